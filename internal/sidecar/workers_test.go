package sidecar

import "testing"

// TestSized: workers fit the memory of the container.
func TestSized(t *testing.T) {
	for _, tt := range []struct {
		given     Workers
		parallel  int
		container int64
		want      Workers
	}{
		{Workers{Number: -1}, 4, 0, Workers{Number: 8, Memory: 128}},
		{Workers{Number: -1}, 8, 1 << 30, Workers{Number: 6, Memory: 102}},
		{Workers{Number: -1}, 64, 1 << 30, Workers{Number: 6, Memory: 102}},
		{Workers{Number: -1}, 8, 128 << 20, Workers{Number: 1, Memory: 76}},
		{Workers{Number: -1}, 1, 16 << 30, Workers{Number: 2, Memory: 512}},
		{Workers{Number: -1, Memory: 200}, 8, 1 << 30, Workers{Number: 3, Memory: 200}},
		{Workers{Number: 4}, 8, 1 << 30, Workers{Number: 4, Memory: 153}},
		{Workers{Number: 4, Memory: 300}, 8, 1 << 30, Workers{Number: 4, Memory: 300}},
		{Workers{}, 8, 1 << 30, Workers{}},
	} {
		if got := tt.given.sized(tt.parallel, tt.container); got.Number != tt.want.Number || got.Memory != tt.want.Memory {
			t.Errorf("%+v, %d at once, %d MiB: got %+v, want %+v", tt.given, tt.parallel, tt.container>>20, got, tt.want)
		}
	}
	for _, bad := range []Workers{{Number: -2}, {Number: 1, Memory: 10}, {Memory: 100}} {
		if bad.Check() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// TestPlaces: there is a worker for each request that is answered, and if there can be, one for a project of which none is.
func TestPlaces(t *testing.T) {
	for _, tt := range []struct{ workers, given, plugins, parallel, extra int }{
		{0, 0, 2, 0, 0},
		{0, 7, 2, 7, 0},
		{1, 0, 2, 1, -1},
		{2, 0, 2, 2, -1},
		{3, 0, 2, 3, -1},
		{3, 1, 2, 1, 1},
		{3, 0, 1, 2, 1},
		{4, 0, 2, 2, 1},
		{5, 0, 2, 3, 1},
		{6, 0, 2, 3, 1},
		{6, 8, 2, 3, 1},
		{6, 1, 2, 1, 1},
		{7, 0, 2, 3, 1},
		{8, 0, 2, 4, 2},
		{16, 8, 2, 8, 4},
		{16, 0, 1, 11, 5},
		{16, 8, 1, 8, 4},
	} {
		parallel, extra := Workers{Number: tt.workers}.places(tt.given, tt.plugins)
		if parallel != tt.parallel || extra != tt.extra {
			t.Errorf("%+v: got %d and %d", tt, parallel, extra)
		}
		if tt.workers > 0 && parallel+tt.plugins*max(0, extra) > tt.workers {
			t.Errorf("%+v: %d and %d are more than workers", tt, parallel, extra)
		}
	}
}
