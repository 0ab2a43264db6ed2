package console

import (
	"math"
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/config"
)

func (c *Console) callers(ctx *fasthttp.RequestCtx, _ visitor) error {
	p, err := readParams(ctx, "query", "pool", "plan", "level", "standing", "sort", "offset", "limit")
	if err != nil {
		return err
	}
	q := CallersQuery{Query: p["query"], Pool: p["pool"], Plan: p["plan"], Level: p["level"]}
	if q.Standing, err = p.oneOf("standing", Standings); err != nil {
		return err
	}
	if q.Sort, err = p.oneOf("sort", CallerSorts); err != nil {
		return err
	}
	if q.Offset, err = p.number("offset", 0, 0, math.MaxInt32-MaxPage); err != nil {
		return err
	}
	if q.Limit, err = p.number("limit", defaultPage, 1, MaxPage); err != nil {
		return err
	}
	if c.options.Callers == nil {
		return problemNotReady
	}
	page := c.options.Callers(q)
	page.Callers = whole(head(page.Callers, q.Limit))
	standings := make(map[string]int, len(Standings))
	for _, s := range Standings {
		standings[s] = page.Standings[s]
	}
	page.Standings = standings
	return answer(ctx, page)
}

// whole is a copy of callers without null in it.
func whole(list []CallerView) []CallerView {
	out := make([]CallerView, len(list))
	for i, v := range list {
		v.Semantics = head(v.Semantics, len(v.Semantics))
		v.Recent = head(v.Recent, len(v.Recent))
		out[i] = v
	}
	return out
}

func (c *Console) caller(ctx *fasthttp.RequestCtx, _ visitor) error {
	p, err := readParams(ctx, "id")
	if err != nil {
		return err
	}
	if p["id"] == "" {
		return badRequest("id must be given: the caller's, as callers shows it.")
	}
	if c.options.Caller == nil {
		return problemNotReady
	}
	d, ok := c.options.Caller(p["id"])
	if !ok {
		return newProblem(404, "caller_unknown", "There is no such caller", "The config in force has no caller of this id.")
	}
	d.Caller = whole([]CallerView{d.Caller})[0]
	d.Flows = head(d.Flows, MaxFlows)
	rules := make([]CallerRule, len(d.Rules))
	for i, r := range d.Rules {
		r.Overrides = head(r.Overrides, len(r.Overrides))
		rules[i] = r
	}
	d.Rules = rules
	d.Surges = head(d.Surges, MaxSurges)
	d.Refusals = head(d.Refusals, MaxRefusals)
	d.Overrides = head(d.Overrides, len(d.Overrides))
	d.Registrations = head(d.Registrations, len(d.Registrations))
	return answer(ctx, d)
}

const (
	defaultSpan = 15 * time.Minute
	maxSpan     = 7 * 24 * time.Hour
)

func (c *Console) history(ctx *fasthttp.RequestCtx, _ visitor) error {
	p, err := readParams(ctx, "kind", "name", "span", "until")
	if err != nil {
		return err
	}
	q := HistoryQuery{Name: p["name"], Span: defaultSpan}
	if q.Kind, err = p.oneOf("kind", HistoryKinds); err != nil {
		return err
	}
	if (q.Kind == "") || (q.Name == "") != (q.Kind == "total") {
		return badRequest("kind must be given, and with it, but for kind=total, name.")
	}
	if text, given := p["span"]; given {
		var d config.Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || d.Duration < time.Second || d.Duration > maxSpan {
			return badRequest("span = %q must be a duration from 1s to %dh.", text, int(maxSpan.Hours()))
		}
		q.Span = d.Duration
	}
	if text, given := p["until"]; given {
		if q.Until, err = time.Parse(time.RFC3339, text); err != nil {
			return badRequest("until = %q must be a time like 2006-01-02T15:04:05Z.", text)
		}
	}
	if c.options.History == nil {
		return problemNotReady
	}
	v, err := c.options.History(q)
	if err != nil {
		return newProblem(404, "history_unknown", "Nothing of this name is remembered", err.Error())
	}
	if v.Fields == nil {
		v.Fields = map[string]Series{}
	}
	return answer(ctx, v)
}
