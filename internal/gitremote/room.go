package gitremote

import "context"

// User is a request that opens repositories, and its owner. Owners have separate room in memory, so that an owner who needs much delays
// only itself.
type User struct {
	Owner string
	// Request tells the requests of an owner apart, by comparison.
	Request any
}

type userKey struct{}

// For sets the user that opens repositories with a context. Contexts without a user share one.
func For(ctx context.Context, u User) context.Context { return context.WithValue(ctx, userKey{}, u) }

func userOf(ctx context.Context) User {
	u, _ := ctx.Value(userKey{}).(User)
	return u
}

const (
	// unpacksAtOnce bounds the memory for packs. An owner unpacks one at a time, and computes with one processor.
	unpacksAtOnce = 4
	// keepOwner is the memory for commits that other requests of an owner may use when a request is to get one more.
	keepOwner = keepMemory / 4
)

// enter waits until there is room to unpack a commit.
func (r *Remote) enter(ctx context.Context) (leave func(), err error) {
	user := userOf(ctx)
	for {
		r.mu.Lock()
		if r.changed == nil {
			r.changed, r.unpacking = make(chan struct{}), map[string]bool{}
		}
		changed := r.changed
		free := !r.unpacking[user.Owner] && len(r.unpacking) < unpacksAtOnce && r.others(user) < keepOwner
		if free {
			if err = r.evict(); err == nil {
				r.unpacking[user.Owner] = true
			}
		}
		r.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case free:
			return func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				delete(r.unpacking, user.Owner)
				r.wake()
			}, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// others is how much memory the commits take that other requests of an owner use. The caller holds the lock.
func (r *Remote) others(user User) (sum int64) {
	for _, snap := range r.kept {
		for u := range snap.users {
			if u.Owner == user.Owner && u != user {
				sum += snap.memory
				break
			}
		}
	}
	return sum
}

// wake wakes the fetches that wait for room. The caller holds the lock.
func (r *Remote) wake() {
	if r.changed != nil {
		close(r.changed)
		r.changed = make(chan struct{})
	}
}
