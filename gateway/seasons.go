package gateway

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tidegate/detector"
	"tidegate/gateway/watch"
)

// seasons keeps what flows are known to do in each hour of the week, for flows that the scheduler has forgotten
// meanwhile and for the next run. A flow's season is its detector's own; here is a copy, as young as what it has learned last.
//
// The goroutine that steps the flows hands copies over, a few at each step, and asks for one where a flow is new. All
// else, which may take long, is done by the goroutine that tends.
type seasons struct {
	handing sync.Mutex
	handed  []handedSeason
	spare   []handedSeason // the tending goroutine's own

	mu    sync.Mutex // over the entries of the table; the tending goroutine alone writes, and so reads without it
	table map[flowNames]*keptSeason

	shapes atomic.Pointer[map[string]*detector.Shape] // by semantic

	// The tending goroutine's own.
	file   seasonsFile
	pooled time.Time // when the shapes were made
	tidied time.Time
}

// flowNames names a flow as another run can find it: by words, not by places in a configuration.
type flowNames struct{ caller, semantic, route, tenant string }

type keptSeason struct {
	season detector.Season
	seen   int64 // when it last learned something, in hours since 1970
}

type handedSeason struct {
	name   flowNames
	season detector.Season
}

const (
	// mostSeasons is how many are kept, 1 KiB each. When there are more, those that know the fewest hours go first, and
	// of these the ones that have not learned for longest: so what comes and goes, like the addresses of a scan, drives
	// out nobody who has been there for weeks.
	mostSeasons = 32_768
	// seasonKept is how long one is kept that learns nothing: long enough for a school's summer.
	seasonKept = 100 * 24 // hours

	sweptAtOnce = 64   // flows in a step: 10,000 in 16 s
	mostHanded  = 8192 // not yet put into the table: then the sweep waits
	mostLeaving = 2 * mostHanded

	poolEvery = time.Hour
	tidyEvery = time.Minute
)

func (d *flowData) names() flowNames { return flowNames{d.caller, d.semantic, d.route, d.tenant} }

// sweep looks whether some of the flows that are stepped have learned an hour, and lets them follow the newest shape.
func (s *seasons) sweep(flows *watch.Flows[*flowData]) {
	shapes := s.shapes.Load()
	flows.Sweep(sweptAtOnce, func(d *flowData, f *detector.Flow) {
		if shapes != nil {
			f.Follow((*shapes)[d.semantic])
		}
		s.hand(d, f.Season(), mostHanded)
	})
}

// left takes what a flow that is no longer stepped has learned since the last sweep, and the level that it leaves with: the
// scheduler may drop it.
func (s *seasons) left(d *flowData) { s.last(d, d.watch.State.Season()) }

// last is hand for a flow that may not be seen again: its level is news each time.
func (s *seasons) last(d *flowData, season *detector.Season) {
	if _, known := season.Level(); known {
		s.take(d, season, mostLeaving)
		return
	}
	s.hand(d, season, mostLeaving)
}

// hand hands a season over if something was learned, unless there are so many already: then it is tried again with the
// next sweep, or when the flow has been back.
func (s *seasons) hand(d *flowData, season *detector.Season, most int) {
	if season.Revision() != d.kept {
		s.take(d, season, most)
	}
}

func (s *seasons) take(d *flowData, season *detector.Season, most int) {
	s.handing.Lock()
	if len(s.handed) < most {
		s.handed = append(s.handed, handedSeason{d.names(), *season})
		d.kept = season.Revision()
	}
	s.handing.Unlock()
}

// recall gives a flow that is new here what is kept of it.
func (s *seasons) recall(d *flowData, season *detector.Season) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.table[d.names()]; k != nil {
		*season = k.season
		d.kept = season.Revision()
	}
}

// tick takes in what was handed over, and does now and then what has to be done with it.
func (s *seasons) tick(now time.Time, log *logs) {
	s.fold(now)
	if now.Sub(s.tidied) >= tidyEvery {
		s.tidied = now
		s.tidy(now)
	}
	if now.Sub(s.pooled) >= poolEvery {
		s.pooled = now
		s.shape(now)
	}
	s.file.tick(now, s.table, log)
}

// close is for when nothing is stepped and tended any more.
func (s *seasons) close(flows *watch.Flows[*flowData], log *logs) {
	for range flows.Len()/mostHanded + 1 {
		flows.Sweep(mostHanded, func(d *flowData, f *detector.Flow) { s.last(d, f.Season()) })
		s.fold(time.Now())
	}
	s.tidy(time.Now())
	s.file.close(time.Now(), s.table, log)
}

// fold puts into the table what was handed over.
func (s *seasons) fold(now time.Time) {
	s.handing.Lock()
	handed := s.handed
	s.handed, s.spare = s.spare[:0], handed // the goroutine that steps need not allocate
	s.handing.Unlock()
	for some := range slices.Chunk(handed, 256) { // a flow that is new waits for no more
		s.mu.Lock()
		for i := range some {
			s.put(some[i].name, &some[i].season, hourOf(now))
		}
		s.mu.Unlock()
	}
	if len(handed) > 0 {
		s.file.changed = true
	}
}

// put is called with mu.
func (s *seasons) put(name flowNames, season *detector.Season, seen int64) {
	if s.table == nil {
		s.table = make(map[flowNames]*keptSeason)
	}
	k := s.table[name]
	if k == nil {
		k = &keptSeason{}
		s.table[name] = k
	}
	k.season, k.seen = *season, seen
}

func hourOf(t time.Time) int64 { return t.Unix() / 3600 }

// tidy drops what is too old, and what is too much.
func (s *seasons) tidy(now time.Time) {
	var drop []flowNames
	for name, k := range s.table {
		if hourOf(now)-k.seen > seasonKept {
			drop = append(drop, name)
		}
	}
	if over := len(s.table) - len(drop) - mostSeasons; over > 0 {
		drop = append(drop, s.poorest(over, drop)...)
	}
	for some := range slices.Chunk(drop, 256) {
		s.mu.Lock()
		for _, name := range some {
			delete(s.table, name)
		}
		s.mu.Unlock()
	}
	if len(drop) > 0 {
		s.file.changed = true
	}
}

// poorest names the n that are the least loss, of those that do not go anyway.
func (s *seasons) poorest(n int, going []flowNames) []flowNames {
	type rank struct {
		name  flowNames
		known int
		hours uint32
		seen  int64
	}
	gone := make(map[flowNames]bool, len(going))
	for _, name := range going {
		gone[name] = true
	}
	ranks := make([]rank, 0, len(s.table))
	for name, k := range s.table {
		if !gone[name] {
			ranks = append(ranks, rank{name, k.season.Known(), k.season.Hours(), k.seen})
		}
	}
	slices.SortFunc(ranks, func(a, b rank) int {
		return cmp.Or(cmp.Compare(a.known, b.known), cmp.Compare(a.seen, b.seen), cmp.Compare(a.hours, b.hours))
	})
	names := make([]flowNames, n)
	for i := range names {
		names[i] = ranks[i].name
	}
	return names
}

// shape makes anew what the flows of each semantic do together, from those that have learned within two weeks.
func (s *seasons) shape(now time.Time) {
	var members []watch.Member
	for name, k := range s.table {
		if hourOf(now)-k.seen <= watch.FreshHours {
			members = append(members, watch.Member{Caller: name.caller, Semantic: name.semantic, Season: &k.season})
		}
	}
	shapes := watch.Shapes(members)
	s.shapes.Store(&shapes)
}
