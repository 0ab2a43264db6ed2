package console

import (
	"strconv"

	"github.com/valyala/fasthttp"
)

func (c *Console) registrations(ctx *fasthttp.RequestCtx, _ visitor) error {
	if _, err := readParams(ctx); err != nil {
		return err
	}
	if c.options.Registrations == nil {
		return problemNotReady
	}
	all := c.options.Registrations()
	return answer(ctx, head(all, len(all)))
}

// decisions are what an owner may say of a registration. Nil: it is forgotten.
var decisions = map[string]*bool{"approve": ptr(true), "refuse": ptr(false), "forget": nil}

func ptr[T any](v T) *T { return &v }

func (c *Console) decideRegistration(ctx *fasthttp.RequestCtx, who visitor) error {
	if c.options.DecideRegistration == nil {
		return problemNotReady
	}
	w, err := c.readWrite(ctx, shape{members: []string{"caller", "semantic", "decision"}, limit: maxBody})
	defer w.release()
	if err != nil {
		return err
	}
	caller, err := w.fields.text("caller")
	if err != nil {
		return err
	}
	semantic, err := w.fields.text("semantic")
	if err != nil {
		return err
	}
	decision, err := w.fields.text("decision")
	if err != nil {
		return err
	}
	approve, known := decisions[decision]
	if caller == "" || semantic == "" || !known {
		return badRequest("caller, semantic and decision must be given; decision is approve, refuse or forget.")
	}
	change, err := w.change(ctx, who)
	if err != nil {
		return err
	}
	v, err := c.options.DecideRegistration(change, caller, semantic, approve)
	if err != nil {
		return err
	}
	return answer(ctx, v)
}

func (c *Console) auditTrail(ctx *fasthttp.RequestCtx, _ visitor) error {
	p, err := readParams(ctx, "actor", "action", "query", "before", "limit")
	if err != nil {
		return err
	}
	q := AuditQuery{Actor: p["actor"], Action: p["action"], Query: p["query"]}
	if text, given := p["before"]; given {
		if q.Before, err = strconv.ParseUint(text, 10, 64); err != nil || q.Before == 0 {
			return badRequest("before = %q must be the id of an entry.", text)
		}
	}
	if q.Limit, err = p.number("limit", defaultPage, 1, MaxPage); err != nil {
		return err
	}
	if c.options.Audit == nil {
		return problemNotReady
	}
	return answer(ctx, head(c.options.Audit(q), q.Limit))
}

// maxAlerts is how many alerts are shown.
const maxAlerts = 100

func (c *Console) alerts(ctx *fasthttp.RequestCtx, _ visitor) error {
	if _, err := readParams(ctx); err != nil {
		return err
	}
	if c.options.Alerts == nil {
		return problemNotReady
	}
	v := c.options.Alerts()
	v.Alerts = head(v.Alerts, maxAlerts)
	return answer(ctx, v)
}

func (c *Console) testAlert(ctx *fasthttp.RequestCtx, who visitor) error {
	if c.options.TestAlert == nil {
		return problemNotReady
	}
	w, err := c.readWrite(ctx, shape{members: []string{}, limit: maxBody})
	defer w.release()
	if err != nil {
		return err
	}
	change, err := w.change(ctx, who)
	if err != nil {
		return err
	}
	v, err := c.options.TestAlert(change)
	if err != nil {
		return err
	}
	return answer(ctx, v)
}
