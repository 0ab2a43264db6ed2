package replay

import (
	"tidegate/detector"
	"tidegate/gateway/watch"
	"tidegate/scheduler"
)

// seasons keeps what flows are known to do in each hour of the week while the scheduler has dropped them, and what the flows
// of a semantic do together, as the running gateway does; it begins with nothing and is kept nowhere.
type seasons struct {
	of     map[scheduler.Key]*keptSeason
	list   []*keptSeason // in the order in which they came, so that shapes are the same each time
	shapes map[string]*detector.Shape
	shape  int64 // ns: when they are made next
}

type keptSeason struct {
	caller, semantic string
	season           detector.Season
	seen             int64 // ns: when it last learned something
}

const (
	shapeEvery = int64(3600 * 1e9)
	sweepEach  = 64 // flows in a step
	// mostSeasons is how many are kept. Those that come later are forgotten with their flows.
	mostSeasons = 32_768
)

// recall gives a flow that is new what is kept of it.
func (e *Engine) recall(d *flow, season *detector.Season) {
	if k := e.seasons.of[d.flow.Key]; k != nil {
		*season = k.season
		d.kept = season.Revision()
	}
}

// left takes in what a flow that is no longer stepped has learned, and the level that it leaves with.
func (e *Engine) left(d *flow) {
	season := d.watch.State.Season()
	if _, known := season.Level(); known || season.Revision() != d.kept {
		e.keep(d, season)
	}
}

// keep takes in what a flow has learned.
func (e *Engine) keep(d *flow, season *detector.Season) {
	k := e.seasons.of[d.flow.Key]
	if k == nil {
		if len(e.seasons.list) >= mostSeasons {
			return
		}
		k = &keptSeason{caller: d.lane.caller.ID, semantic: d.lane.semantic.Name}
		e.seasons.of[d.flow.Key] = k
		e.seasons.list = append(e.seasons.list, k)
	}
	d.kept = season.Revision()
	k.season, k.seen = *season, e.now
}

// sweep looks whether some of the flows that are stepped have learned something, and lets them follow the newest shape.
func (e *Engine) sweep() {
	if e.now >= e.seasons.shape {
		e.seasons.shape = e.now + shapeEvery
		e.shapes()
	}
	e.flows.Sweep(sweepEach, func(d *flow, f *detector.Flow) {
		f.Follow(e.seasons.shapes[d.lane.semantic.Name])
		if season := f.Season(); season.Revision() != d.kept {
			e.keep(d, season)
		}
	})
}

// shapes makes anew what the flows of each semantic do together.
func (e *Engine) shapes() {
	var members []watch.Member
	for _, k := range e.seasons.list {
		if e.now-k.seen <= watch.FreshHours*shapeEvery {
			members = append(members, watch.Member{Caller: k.caller, Semantic: k.semantic, Season: &k.season})
		}
	}
	e.seasons.shapes = watch.Shapes(members)
}
