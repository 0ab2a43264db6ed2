package gateway

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"tidegate/gateway/console"
)

// callerOrders are the lists of callers that somebody has asked a census for: each is made once, however many pages show
// parts of it. Safe for concurrent use.
type callerOrders struct {
	mu     sync.Mutex
	sorted map[string][]int32 // places of all callers, by the name of the order
	found  map[console.CallersQuery]*foundCallers
}

// maxFound bounds the queries whose answers a census remembers. Others are answered all the same.
const maxFound = 64

// foundCallers are the callers that fit a query. It is not changed once it is there.
type foundCallers struct {
	places    []int32
	standings map[string]int // of those that fit the rest of the query
}

// find is the callers that fit, in order; where q begins and ends does not matter. Whoever comes while a list is made waits for
// it instead of making it again.
func (c *census) find(q console.CallersQuery) *foundCallers {
	q.Offset, q.Limit = 0, 0
	q.Query = strings.ToLower(q.Query)
	q.Sort = cmp.Or(q.Sort, "attention")
	o := &c.orders
	o.mu.Lock()
	defer o.mu.Unlock()
	if f := o.found[q]; f != nil {
		return f
	}
	if o.sorted == nil {
		o.sorted, o.found = make(map[string][]int32), make(map[console.CallersQuery]*foundCallers)
	}
	if o.sorted[q.Sort] == nil {
		o.sorted[q.Sort] = c.sort(q.Sort)
	}
	f := c.filter(o.sorted[q.Sort], &q)
	if len(o.found) < maxFound {
		o.found[q] = f
	}
	return f
}

// callerSorts are what callers can be ordered by, the highest first; equals by id.
var callerSorts = map[string]func(of *callerCensus) float64{
	"rate":      func(of *callerCensus) float64 { return float64(of.arrived) },
	"occupancy": func(of *callerCensus) float64 { return of.occupancy },
	"waiting":   func(of *callerCensus) float64 { return float64(of.waiting) },
	"in_flight": func(of *callerCensus) float64 { return float64(of.inFlight) },
	"refused":   func(of *callerCensus) float64 { return float64(of.refused) },
	"caller":    func(*callerCensus) float64 { return 0 },
	"attention": attention,
}

// attention puts first how a caller stands, then what comes of it. Its rate is smoothed, so that callers do not change places
// each second; rates are far below 1e12.
func attention(of *callerCensus) float64 { return -1e12*float64(of.standing) + min(of.steady, 1e11) }

// sort is the places of all callers in an order.
func (c *census) sort(by string) []int32 {
	type placed struct {
		value float64
		place int32
	}
	value := callerSorts[by]
	if value == nil {
		value = attention
	}
	all := make([]placed, len(c.callers))
	for i := range c.callers {
		all[i] = placed{value(&c.callers[i]), int32(i)}
	}
	slices.SortFunc(all, func(a, b placed) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.place, b.place))
	})
	places := make([]int32, len(all))
	for i, p := range all {
		places[i] = p.place
	}
	return places
}

// filter is what fits of the callers, in their order.
func (c *census) filter(all []int32, q *console.CallersQuery) *foundCallers {
	f := &foundCallers{places: make([]int32, 0, len(all)), standings: make(map[string]int, len(console.Standings))}
	for _, word := range console.Standings {
		f.standings[word] = 0
	}
	for _, place := range all {
		of := &c.callers[place]
		if q.Pool != "" && q.Pool != of.caller.Pool || q.Plan != "" && q.Plan != of.caller.Plan.Name ||
			q.Level != "" && !of.hasLevel(q.Level) ||
			q.Query != "" && !strings.Contains(c.roster.text[place], q.Query) && !of.hasSemantic(q.Query) {
			continue
		}
		word := of.standing.String()
		f.standings[word]++
		if q.Standing == "" || q.Standing == word {
			f.places = append(f.places, place)
		}
	}
	return f
}

func (of *callerCensus) hasLevel(level string) bool {
	for i := range of.flows {
		if of.flows[i].level == level {
			return true
		}
	}
	return false
}

// hasSemantic says that part, in lower case, is in the name of a semantic that the caller has flows of.
func (of *callerCensus) hasSemantic(part string) bool {
	last := ""
	for i := range of.flows {
		if name := of.flows[i].d.semantic; name != last { // a caller told apart by address has thousands of one
			if last = name; strings.Contains(strings.ToLower(name), part) {
				return true
			}
		}
	}
	return false
}
