package replay

import "time"

// Arrival is one request of a trace.
type Arrival struct {
	At     int64 // ns since 1970, by the trace's clock
	Origin *Origin
	Tenant string        // its hash; "" where the trace does not say or there was none
	Seat   time.Duration // for how long it held its seat when it was recorded; 0: the trace does not say
}

// Origin is what the requests of one caller, type and route have in common. There is one for each, with a number.
type Origin struct {
	Number int // from 0
	originKey
}

type originKey struct {
	Caller, Type, Route string
	Full                bool // the trace knows of tenants
}

// NewOrigin is an origin of requests that stand in no trace. Numbers are from 0 and without large gaps. The semantic is the
// tag that they came with; full says that the tenant is known wherever there was one.
func NewOrigin(number int, caller, semantic, route string, full bool) *Origin {
	return &Origin{Number: number, originKey: originKey{Caller: caller, Type: semantic, Route: route, Full: full}}
}

// others is the caller as whom those are counted for whom there is no room.
const others = "others"

// mostKinds is how many types and routes of one caller are told apart: a caller who invents them shall not use up the room
// of others. More than any config has.
const mostKinds = 1000

// origins gives out origins, up to a bound.
type origins struct {
	most  int
	of    map[originKey]*Origin
	kinds map[string]int // by caller
}

func newOrigins(most int) *origins {
	return &origins{most: max(most, 1), of: make(map[originKey]*Origin), kinds: make(map[string]int)}
}

// origin finds the origin or makes it. Past mostKinds of a caller, his new ones are one. Past the bound, new callers are
// one; past twice the bound, so are their types.
func (s *origins) origin(k originKey) *Origin {
	if o := s.of[k]; o != nil {
		return o
	}
	if s.kinds[k.Caller] >= mostKinds && k.Caller != others {
		k.Type, k.Route = "", ""
		if o := s.of[k]; o != nil {
			return o
		}
	}
	if len(s.of) >= s.most {
		k.Caller = others
		if len(s.of) >= 2*s.most {
			k.Type, k.Route = "", ""
		}
		if o := s.of[k]; o != nil {
			return o
		}
	}
	o := &Origin{Number: len(s.of), originKey: k}
	s.of[k] = o
	s.kinds[k.Caller]++
	return o
}
