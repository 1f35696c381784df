package simulate

import "github.com/argosy-cd/argosy/internal/health"

// ripen schedules the states of a workload.
func (s *simulation) ripen(a *app, x *item) {
	took := s.model.duration(a.Name, x.Kind, s.random)
	state := health.Healthy
	for _, f := range s.faults[a.Name] {
		if !workload(x.Kind) {
			break
		}
		switch f.Kind {
		case Never:
			return
		case Fail:
			if a.mended {
				continue
			}
			state = health.Degraded
			if f.Mended > 0 {
				s.after(took+f.Mended, func() { s.mend(a, x) })
			}
		case Degrade:
			if f.To > 0 && f.To <= s.now {
				continue
			}
			s.after(max(f.From-s.now, 0), func() { s.change(a, x, health.Degraded) })
			if f.To > 0 {
				s.after(max(f.To-s.now, took), func() { s.change(a, x, health.Healthy) })
			}
		}
	}
	s.after(took, func() {
		if x.health == health.Progressing {
			s.change(a, x, state)
		}
	})
}

// mend makes an object healthy by a commit. Argo CD does not retry a sync that it has given up, but it syncs a new revision.
func (s *simulation) mend(a *app, x *item) {
	if !a.mended {
		a.mended = true
		s.event(a, Mended, "")
	}
	if x.health == health.Degraded { // and not a hook that runs again
		s.change(a, x, health.Healthy)
	}
	for above := a; above != nil; above = above.parent {
		above.fresh = true
		if above.GivenUp {
			s.again(above)
		}
	}
}

// generate is a set that the controller takes care of: it makes its Applications, and then says that it has.
func (s *simulation) generate(a *app, x *item) {
	if x.checked {
		s.become(a, x, health.Progressing)
	}
	s.after(s.model.Generate, func() {
		for _, c := range x.Children {
			if child := s.apps[c]; child != nil && child.set == x {
				if child.respecified && child.Created < 0 {
					s.arrive(child)
				}
				s.create(child)
			}
		}
		s.settle(x)
	})
}

// settle is the health of a set: that of its conditions, or of its Applications if its health check looks at them.
func (s *simulation) settle(x *item) {
	if !x.checked || !x.applied {
		return
	}
	state := health.Healthy
	switch {
	case x.Broken:
		state = health.Degraded
	case x.Awaits:
		for _, c := range x.Children {
			child := s.apps[c]
			if child == nil {
				continue
			}
			switch child.health {
			case health.Healthy:
			case health.Degraded:
				state = health.Degraded
			default:
				if state == health.Healthy {
					state = health.Progressing
				}
			}
		}
	}
	s.change(x.app, x, state)
}

// change gives an object a new health, and lets its Application know.
func (s *simulation) change(a *app, x *item, h health.Status) {
	if x.health == h {
		return
	}
	s.become(a, x, h)
	s.rate(a)
	s.after(s.model.Notice, func() { s.check(a) })
}

func (s *simulation) become(a *app, x *item, h health.Status) {
	x.health = h
	if h == health.Healthy && !x.itself() {
		a.last, a.lastSince = Waited{Object: x.String()}, x.first
		if x.child != nil {
			a.last.App = x.child.Name
		}
	}
}

// shows returns the health of an Application in its parent, by the health check.
func (s *simulation) shows(x *item) health.Status {
	if x.itself() && s.aware && s.knows {
		return health.Healthy
	}
	return x.child.health
}

// rate computes the health of an Application, and reports a change to its parent.
func (s *simulation) rate(a *app) {
	worst := s.aggregate(a)
	if busy := s.aware && (a.running || !a.ok && !a.byHand); busy || !a.compared {
		worst = health.Progressing
	}
	if a.Broken != "" && a.compared {
		worst = health.Healthy // it has no unhealthy objects
		if s.sees {
			worst = health.Progressing
		}
	}
	if a.Refused != "" {
		worst = health.Unknown
	}
	if worst == a.health {
		return
	}
	a.health = worst
	a.Healthy = -1
	if a.Broken == "" {
		if worst == health.Healthy {
			a.Healthy = s.now
		}
		s.happens(a, Event{What: BecameState, Detail: string(worst), Health: worst})
	}
	for _, x := range a.shown {
		if x.applied && x.checked {
			s.after(s.model.Notice, func() { s.change(x.app, x, s.shows(x)) })
		}
	}
	if x := a.set; x != nil && x.Awaits && x.health != health.Missing {
		s.after(s.model.Notice, func() { s.settle(x) })
	}
}

// aggregate returns the worst health of an Application's objects. Hooks and itself do not count.
func (s *simulation) aggregate(a *app) health.Status {
	worst, some, live := health.Healthy, false, false
	for _, x := range a.items {
		if x.Hook {
			continue
		}
		some, live = true, live || x.applied
		h := x.health
		if !x.applied {
			h = health.Missing
		}
		switch {
		case x.itself():
			continue
		case h == health.Missing && !x.applied && (s.lenient || !x.Counts):
			continue
		case x.Application != nil && (h == health.Missing || h == health.Unknown):
			continue
		}
		if rank(h) > rank(worst) {
			worst = h
		}
	}
	if s.lenient && some && !live && rank(health.Missing) > rank(worst) {
		return health.Missing
	}
	return worst
}
