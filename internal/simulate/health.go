package simulate

// ripen schedules what becomes of a workload.
func (s *simulation) ripen(a *app, x *item) {
	took := s.model.duration(a.Name, x.Kind, s.random)
	state := Healthy
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

// generate is a set that the controller takes care of: it makes its Applications, and then says that it has.
func (s *simulation) generate(a *app, x *item) {
	if x.checked {
		s.become(a, x, Progressing)
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
	health := Healthy
	switch {
	case x.Broken:
		health = Degraded
	case x.Awaits:
		for _, c := range x.Children {
			child := s.apps[c]
			if child == nil {
				continue
			}
			switch child.health {
			case Healthy:
			case Degraded:
				health = Degraded
			default:
				if health == Healthy {
					health = Progressing
				}
			}
		}
	}
	s.change(x.app, x, health)
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
	if h == Healthy && !x.itself() {
		a.last, a.lastSince = Waited{Object: x.String()}, x.first
		if x.child != nil {
			a.last.App = x.child.Name
		}
	}
}

// shows is what the health check says of an Application to the one that deploys it.
func (s *simulation) shows(x *item) Health {
	if x.itself() && s.aware && s.knows {
		return Healthy
	}
	return x.child.health
}

// rate computes the health of an Application, which is its parent's to see.
func (s *simulation) rate(a *app) {
	worst := s.aggregate(a)
	if busy := s.aware && (a.running || !a.ok && !a.byHand); busy || !a.compared {
		worst = Progressing
	}
	if a.Broken != "" && a.compared {
		worst = Healthy // as there is nothing that is not
		if s.sees {
			worst = Progressing
		}
	}
	if a.Refused != "" {
		worst = Unknown
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
	for _, x := range a.shown {
		if x.applied && x.checked {
			s.after(s.model.Notice, func() { s.change(x.app, x, s.shows(x)) })
		}
	}
	if x := a.set; x != nil && x.Awaits && x.health != Missing {
		s.after(s.model.Notice, func() { s.settle(x) })
	}
}

// aggregate is the health of what an Application deploys: the worst. Hooks and itself do not count.
func (s *simulation) aggregate(a *app) Health {
	worst, some, live := Healthy, false, false
	for _, x := range a.items {
		if x.Hook {
			continue
		}
		some, live = true, live || x.applied
		h := x.health
		if !x.applied {
			h = Missing
		}
		switch {
		case x.itself():
			continue
		case h == Missing && !x.applied && (s.lenient || !x.checked || x.Bundled):
			continue
		case x.Application != nil && (h == Missing || h == Unknown):
			continue
		}
		if h.rank() > worst.rank() {
			worst = h
		}
	}
	if s.lenient && some && !live && Missing.rank() > worst.rank() {
		return Missing
	}
	return worst
}
