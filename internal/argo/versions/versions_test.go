package versions

import "testing"

func TestParse(t *testing.T) {
	for text, want := range map[string]Version{
		"3.2": 2, "v3.4.2": 4, "3.5.1+abc": 5, "3.3.0-rc1": 3, "3.1": 0, "3.6": 0, "2.14": 0,
		"4.2": 0, "": 0, "3": 0, "latest": 0, "3.2x": 0,
	} {
		got, err := Parse(text)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %v, %v", text, int(got), err)
		}
	}
}

func TestNearest(t *testing.T) {
	for text, want := range map[string]Version{
		"v3.1.9": Oldest, "2.14": Oldest, "3.6.0": Newest, "4.2": Newest, "3.4": 4,
		"3.999": Newest,
	} {
		got, exact, ok := Nearest(text)
		if got != want || exact != (text == "3.4") || !ok {
			t.Errorf("%q: %v, %v, %v", text, int(got), exact, ok)
		}
	}
	for _, text := range []string{"", "latest", "sha256", "3", "3.4.5.6"} {
		if v, _, ok := Nearest(text); ok {
			t.Errorf("%q is %s", text, v)
		}
	}
}

// TestDifferences checks that each difference has a name, a beginning among the known versions, and both sentences.
func TestDifferences(t *testing.T) {
	seen := map[string]bool{}
	last := Oldest
	for _, d := range Differences() {
		if seen[d.Name] || d.Name == "" || d.Means == "" || d.Before == "" || d.Area == "" || d.Since <= Oldest || d.Since > Newest ||
			d.Since < last {
			t.Errorf("%+v", d)
		}
		seen[d.Name] = true
		last = d.Since
		if Oldest.Has(d) || !Newest.Has(d) || !Version(0).Has(d) || !d.Since.Has(d) || (d.Since - 1).Has(d) {
			t.Errorf("%s: Has is wrong", d.Name)
		}
	}
}

func TestBetween(t *testing.T) {
	for _, c := range []struct {
		v, since, until Version
		want            bool
	}{{2, 2, 0, true}, {2, 3, 0, false}, {2, 2, 3, true}, {3, 2, 3, false}, {0, 2, 3, false}, {0, 5, 0, true}, {4, 3, 5, true}} {
		if got := c.v.Between(c.since, c.until); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
