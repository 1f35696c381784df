package siegetest_test

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/cmp/siegetest"
)

func TestTemp(t *testing.T) {
	s := start(t, 30*time.Second)
	var wg sync.WaitGroup
	for _, a := range s.world.Attacks() {
		if !strings.Contains(a.Name, os.Getenv("ONLY")) {
			continue
		}
		for i := range 6 {
			wg.Go(func() {
				began := time.Now()
				_, err := a.Send(t.Context(), s.sockets, siegetest.Evil, i)
				t.Logf("%s %d %s %.300s", a.Name, i, time.Since(began), siegetest.Message(err))
			})
		}
	}
	done := make(chan int)
	go func() { wg.Wait(); close(done) }()
	for i := 0; ; i++ {
		select {
		case <-done:
			return
		case <-time.After(300 * time.Millisecond):
		}
		for _, r := range s.honest {
			began := time.Now()
			if err := r.Check(t.Context(), s.sockets, i); err != nil || time.Since(began) > 300*time.Millisecond {
				t.Log(r.Name, time.Since(began), err)
			}
		}
		p := s.Peaks()
		t.Log(i, p.Process>>20, p.Container>>20, p.Killed)
	}
}
