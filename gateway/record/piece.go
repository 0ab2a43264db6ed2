package record

import (
	"math/bits"
	"unsafe"
)

// place is where a piece of text was last written.
type place struct {
	member uint32 // in the text of which member; 0: in none
	at     uint32
	length uint32
}

// flowPieces are the pieces of a line by what they are made of:
//
//	time [,caller,semantic,] size [,route,,cost,] seat [,outcome]      without a tenant
//	time [,caller,semantic,] size [,route,][tenant,cost,] seat [,outcome]
//
// A place of the table has room for flowWays of them. Where more share it, they replace each other and are written in
// full each time: that costs some bytes and no more.
type flowPieces struct {
	callerName, semantic, routeName string
	cost                            int64
	tenants                         bool
	caller, route                   place
}

type tenantPiece struct {
	tenant uint64
	cost   int64
	place  place
}

type outcomePiece struct {
	outcome, code string
	place         place
}

const (
	flowBits        = 11
	flowWays        = 4 // five of a hundred flows meet at one place in one table of a thousand
	tenantPlaceBits = 10
)

// forget makes all places void.
func (e *encoder) forget() {
	if e.members++; e.members == 0 { // after some years
		clear(e.flows[:])
		clear(e.tenants[:])
		clear(e.outcomes[:])
		e.members = 1
	}
}

// spread is the golden ratio's: multiplied by it, what differs in any bit differs in the first.
const spread = 0x9e3779b97f4a7c15

// flowOf finds the pieces of a row. Names come as the same strings again and again, those of a configuration, so
// where a string is says enough for a hash. After a reload they are others, and are written anew.
func (e *encoder) flowOf(r *row) *flowPieces {
	h := addressOf(r.caller)*spread ^ bits.RotateLeft64(addressOf(r.semantic)*spread, 21) ^ addressOf(r.route)
	ways := e.flows[h*spread>>(64-flowBits)&^(flowWays-1):][:flowWays]
	for i := range ways {
		if ways[i].of(r) {
			return &ways[i]
		}
	}
	f := &ways[e.way%flowWays]
	e.way++
	*f = flowPieces{callerName: r.caller, semantic: r.semantic, routeName: r.route, cost: r.cost, tenants: r.tenant != 0}
	return f
}

func (f *flowPieces) of(r *row) bool {
	return f.callerName == r.caller && f.semantic == r.semantic && f.routeName == r.route && f.cost == r.cost && f.tenants == (r.tenant != 0)
}

func addressOf(s string) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.StringData(s)))) }

func (e *encoder) tenantOf(r *row) *tenantPiece {
	t := &e.tenants[r.tenant*spread>>(64-tenantPlaceBits)]
	if t.tenant != r.tenant || t.cost != r.cost {
		*t = tenantPiece{tenant: r.tenant, cost: r.cost}
	}
	return t
}

// outcomeOf looks through the few that there are.
func (e *encoder) outcomeOf(r *row) *outcomePiece {
	for i := range e.outcomes {
		if o := &e.outcomes[i]; o.outcome == r.outcome && o.code == r.code {
			return o
		}
	}
	o := &e.outcomes[e.outcome%uint8(len(e.outcomes))]
	e.outcome++
	*o = outcomePiece{outcome: r.outcome, code: r.code}
	return o
}
