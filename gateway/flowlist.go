package gateway

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"tidegate/gateway/console"
)

// flowOrder is a flow's place in a list: by value, the highest first, then by name. With it a page is
// found without sorting all flows, and a cursor is the place of the last flow of a page: nothing has to
// be remembered between two pages.
type flowOrder struct {
	Value    float64 `json:"v"`
	Caller   string  `json:"c"`
	Semantic string  `json:"s"`
	Route    string  `json:"r"`
	Tenant   string  `json:"t"`
}

func (a flowOrder) compare(b flowOrder) int {
	return cmp.Or(cmp.Compare(b.Value, a.Value), strings.Compare(a.Caller, b.Caller),
		strings.Compare(a.Semantic, b.Semantic), strings.Compare(a.Route, b.Route), strings.Compare(a.Tenant, b.Tenant))
}

// flowSorts are what lists can be ordered by.
var flowSorts = map[string]func(v *console.FlowView) float64{
	"":          busy,
	"busiest":   busy,
	"rate":      func(v *console.FlowView) float64 { return v.Rate },
	"occupancy": func(v *console.FlowView) float64 { return v.Occupancy },
	"waiting":   func(v *console.FlowView) float64 { return float64(v.Waiting) },
	"in_flight": func(v *console.FlowView) float64 { return float64(v.InFlight) },
	"refused":   func(v *console.FlowView) float64 { return float64(v.Refused) },
	"admitted":  func(v *console.FlowView) float64 { return float64(v.Admitted) },
	"caller":    func(*console.FlowView) float64 { return 0 },
	"attention": func(v *console.FlowView) float64 {
		return -1e12*float64(slices.Index(console.Standings, v.Standing)) + min(busy(v), 1e11)
	},
}

func busy(v *console.FlowView) float64 { return busyness(v.InFlight+v.Waiting, v.Rate) }

var errCursor = errors.New("the cursor is not one of ours: leave it out to begin anew")

// flowList is one page of all flows.
func (g *Gateway) flowList(q console.FlowsQuery) (console.FlowsPage, error) {
	value := flowSorts[q.Sort]
	if value == nil {
		return console.FlowsPage{}, errors.New("sort must be one of " + strings.Join(console.FlowSorts, ", "))
	}
	var after *flowOrder
	if q.Cursor != "" {
		after = new(flowOrder)
		text, err := base64.RawURLEncoding.DecodeString(q.Cursor)
		if err != nil || json.Unmarshal(text, after) != nil {
			return console.FlowsPage{}, errCursor
		}
	}
	page := console.FlowsPage{Time: time.Now()}
	fits := flowFilter(q)
	var found []listed // the first of the order, and one more than the page to know whether there is another
	g.eachFlow(func(v *console.FlowView) {
		if !fits(v) {
			return
		}
		page.Total++
		at := flowOrder{value(v), v.Caller, v.Semantic, v.Route, v.Tenant}
		if after != nil && at.compare(*after) <= 0 || len(found) > q.Limit && at.compare(found[q.Limit].at) >= 0 {
			return
		}
		i, _ := slices.BinarySearchFunc(found, at, func(l listed, at flowOrder) int { return l.at.compare(at) })
		found = slices.Insert(found, i, listed{at, *v})
		found = found[:min(len(found), q.Limit+1)]
	})
	if len(found) > q.Limit {
		found = found[:q.Limit]
		text, err := json.Marshal(found[q.Limit-1].at)
		if err != nil {
			return console.FlowsPage{}, err
		}
		page.Next = base64.RawURLEncoding.EncodeToString(text)
	}
	page.Flows = make([]console.FlowView, len(found))
	for i := range found {
		page.Flows[i] = found[i].view
	}
	return page, nil
}

type listed struct {
	at   flowOrder
	view console.FlowView
}
