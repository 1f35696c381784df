package simulate

// ripen schedules what becomes of a workload.
func (s *simulation) ripen(a *app, x *item) {
	took := s.model.duration(a.Name, x.Kind, s.random)
	state := Healthy
	for _, f := range s.faults[a.Name] {
		if !s.model.workload(x.Kind) {
			break
		}
		switch f.Kind {
		case Never:
			return
		case Fail:
			if a.mended {
				continue
			}
			state = Degraded
			if f.Mended > 0 {
				s.after(took+f.Mended, func() { s.mend(a, x) })
			}
		case Degrade:
			if f.To > 0 && f.To <= s.now {
				continue
			}
			s.after(max(f.From-s.now, 0), func() { s.change(a, x, Degraded) })
			if f.To > 0 {
				s.after(max(f.To-s.now, took), func() { s.change(a, x, Healthy) })
			}
		}
	}
	s.after(took, func() {
		if x.health == Progressing {
			s.change(a, x, state)
		}
	})
}

// mend is a commit that makes an object healthy. Argo CD does not try again what it has given up, but a new revision it does.
func (s *simulation) mend(a *app, x *item) {
	if !a.mended {
		a.mended = true
		s.event(a, Mended, "")
	}
	if x.health == Degraded { // and not a hook that runs again
		s.change(a, x, Healthy)
	}
	for above := a; above != nil; above = above.parent {
		above.fresh = true
		if above.GivenUp {
			s.again(above)
		}
	}
}

// again tries a new revision.
func (s *simulation) again(a *app) {
	a.GivenUp, a.fresh, a.tries = false, false, 0
	s.after(s.model.Refresh+s.model.Notice, func() { s.start(a) })
}

// change gives an object a new health, and lets its Application know.
func (s *simulation) change(a *app, x *item, h Health) {
	if x.health == h {
		return
	}
	s.become(a, x, h)
	s.rate(a)
	s.after(s.model.Notice, func() { s.check(a) })
}

func (s *simulation) become(a *app, x *item, h Health) {
	x.health = h
	if h == Healthy {
		a.last, a.lastSince = Waited{Object: x.String()}, x.first
		if x.child != nil {
			a.last.App = x.child.Name
		}
	}
}

// rate computes the health of an Application, which is its parent's to see.
func (s *simulation) rate(a *app) {
	worst := Healthy
	for _, x := range a.items {
		h := x.health
		if x.Hook {
			continue
		}
		if !x.applied {
			h = Missing
		}
		// What is not there yet counts only if it has a health check, and an Application does not.
		if h == Missing && (!x.Waits || x.Application != nil) {
			continue
		}
		if h.rank() > worst.rank() {
			worst = h
		}
	}
	if busy := s.aware && (a.running || a.Synced < 0 && !a.byHand); busy || !a.compared {
		worst = Progressing
	}
	if a.Broken != "" && a.compared {
		worst = Healthy // as there is nothing that is not
		if s.sees {
			worst = Progressing
		}
	}
	if worst == a.health {
		return
	}
	a.health = worst
	a.Healthy = -1
	if a.Broken == "" {
		if worst == Healthy {
			a.Healthy = s.now
		}
		s.event(a, BecameState, "%s", worst)
	}
	if a.own != nil && a.own.applied && a.own.Waits {
		s.after(s.model.Notice, func() { s.change(a.parent, a.own, a.health) })
	}
}
