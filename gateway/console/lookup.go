package console

import "github.com/valyala/fasthttp"

const (
	defaultPage  = 100    // entries of a list
	defaultQueue = 1000   // of the queue's dump
	maxQueue     = 10_000 // of the queue's dump: 3 MB of JSON
)

func (c *Console) explain(ctx *fasthttp.RequestCtx, _ visitor) error {
	p, err := readParams(ctx, "caller", "route", "method", "host", "path", "semantic", "tenant")
	if err != nil {
		return err
	}
	q := ExplainQuery{
		Caller: p["caller"], Route: p["route"], Method: p["method"], Host: p["host"], Path: p["path"],
		Semantic: p["semantic"], Tenant: p["tenant"],
	}
	if (q.Route == "") == (q.Path == "") || q.Route != "" && (q.Method != "" || q.Host != "") {
		return badRequest("Give either route, or path with method and host where they matter.")
	}
	if c.options.Explain == nil {
		return problemNotReady
	}
	e, err := c.options.Explain(q)
	if err != nil {
		return newProblem(422, "not_explained", "This request would not get as far as a rule", err.Error())
	}
	return answer(ctx, e)
}

// flowStates are what a list of flows can be narrowed to.
var flowStates = []string{StateLearning, StateCalm, StateRising, StateSurge, StateCooling, "waiting", "refused", "observed"}

func (c *Console) flows(ctx *fasthttp.RequestCtx, _ visitor) error {
	p, err := readParams(ctx, "query", "state", "standing", "sort", "cursor", "limit")
	if err != nil {
		return err
	}
	q := FlowsQuery{Query: p["query"], Cursor: p["cursor"]}
	if q.State, err = p.oneOf("state", flowStates); err != nil {
		return err
	}
	if q.Standing, err = p.oneOf("standing", Standings); err != nil {
		return err
	}
	if q.Sort, err = p.oneOf("sort", FlowSorts); err != nil {
		return err
	}
	if q.Limit, err = p.number("limit", defaultPage, 1, MaxPage); err != nil {
		return err
	}
	if c.options.Flows == nil {
		return problemNotReady
	}
	page, err := c.options.Flows(q)
	if err != nil {
		return newProblem(400, "cursor_unknown", "The list cannot be gone on with", err.Error())
	}
	page.Flows = head(page.Flows, q.Limit)
	return answer(ctx, page)
}

func (c *Console) refusals(ctx *fasthttp.RequestCtx, _ visitor) error {
	p, err := readParams(ctx, "caller", "request_id", "code", "limit")
	if err != nil {
		return err
	}
	q := RefusalsQuery{Caller: p["caller"], RequestID: p["request_id"], Code: p["code"]}
	if q.Limit, err = p.number("limit", defaultPage, 1, MaxPage); err != nil {
		return err
	}
	if c.options.Refusals == nil {
		return problemNotReady
	}
	return answer(ctx, head(c.options.Refusals(q), q.Limit))
}

func (c *Console) queue(ctx *fasthttp.RequestCtx, _ visitor) error {
	p, err := readParams(ctx, "limit")
	if err != nil {
		return err
	}
	limit, err := p.number("limit", defaultQueue, 1, maxQueue)
	if err != nil {
		return err
	}
	if c.options.Queue == nil {
		return problemNotReady
	}
	made := c.options.Queue(limit)
	if made == nil {
		return errNoSnapshot
	}
	q := *made
	q.Waiting = head(q.Waiting, limit)
	q.Flows = head(q.Flows, len(q.Flows))
	q.Levels = head(q.Levels, len(q.Levels))
	return answer(ctx, q)
}
