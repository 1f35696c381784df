package simulate

import "github.com/argosy-cd/argosy/internal/plan"

// Early is an Application that was made before one of an earlier wave was healthy.
type Early struct {
	App, Before       string
	Wave, EarlierWave int
}

// TooEarly returns the Applications of a plan that did not wait for all of earlier waves, also those of sets.
func (b *Boot) TooEarly(p *plan.Plan) []Early {
	var out []Early
	for _, parent := range p.Applications {
		type placed struct {
			run  *Run
			wave int
		}
		var list []placed
		for _, item := range parent.Items {
			children := item.Children
			if item.Application != nil {
				children = []*plan.Application{item.Application}
			}
			for _, c := range children {
				r := b.Find(c.Name)
				if r == nil {
					r = b.Find(c.String())
				}
				if r != nil && !c.Itself {
					list = append(list, placed{r, item.Wave})
				}
			}
		}
		for _, later := range list {
			for _, earlier := range list {
				if earlier.wave < later.wave && later.run.Created >= 0 && (earlier.run.Healthy < 0 ||
					earlier.run.Healthy > later.run.Created) {
					out = append(out, Early{later.run.Name, earlier.run.Name, later.wave, earlier.wave})
					break
				}
			}
		}
	}
	return out
}
