package cmp

import (
	"fmt"
	"sync"

	"google.golang.org/grpc/codes"
)

// Limits of the heads of requests. A head has the environment of an application, with all parameters, twice. The resource of an application
// has 1.5 MiB at most.
const (
	// maxMessageSize bounds one message of a request. Argo CD sends a repository in messages of a kilobyte, unless its administrator sets
	// another size.
	maxMessageSize = 4 << 20
	// projectHeads bounds the heads of a project's requests that are not answered, and allHeads those of all projects.
	projectHeads = 16 << 20
	allHeads     = 64 << 20
)

// heads counts the bytes of requests' heads until they are answered, in all plugins: any number of requests may wait. The zero value is
// ready.
type heads struct {
	mu  sync.Mutex
	all int
	of  map[string]int // projects
}

// take counts a head, or refuses it. The first head of a project is never refused, whatever other projects hold.
func (h *heads) take(project string, n int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	has := h.of[project]
	refused := func(whose string, sum, limit int) error {
		return &coded{
			codes.ResourceExhausted,
			fmt.Errorf("unanswered requests %s have %d KiB of parameters, this one has %d KiB more, and the limit for all of them is "+
				"%d KiB; try again", whose, sum>>10, n>>10, limit>>10),
		}
	}
	switch {
	case has == 0:
	case has+n > projectHeads:
		return refused(fmt.Sprintf("of project %q", project), has, projectHeads)
	case h.all+n > allHeads:
		return refused("of all projects", h.all, allHeads)
	}
	if h.of == nil {
		h.of = map[string]int{}
	}
	h.of[project] += n
	h.all += n
	return nil
}

func (h *heads) give(project string, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all -= n
	if h.of[project] -= n; h.of[project] == 0 {
		delete(h.of, project)
	}
}
