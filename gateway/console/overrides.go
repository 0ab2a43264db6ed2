package console

import (
	"fmt"
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/config"
)

func (c *Console) overrides(ctx *fasthttp.RequestCtx, _ visitor) error {
	if _, err := readParams(ctx); err != nil {
		return err
	}
	kept := c.options.Control.Overrides()
	return answer(ctx, head(kept, len(kept)))
}

// setOverride makes an override; whether its name and value fit is for the configuration to say.
func (c *Console) setOverride(ctx *fasthttp.RequestCtx, who visitor) error {
	w, err := c.readWrite(ctx, shape{members: []string{"name", "value", "until", "for"}, limit: maxBody})
	defer w.release()
	if err != nil {
		return err
	}
	change, err := w.change(ctx, who)
	if err != nil {
		return err
	}
	o := config.Override{Actor: change.Actor, Reason: change.Reason, Made: time.Now().UTC()}
	if o.Name, err = w.fields.text("name"); err != nil {
		return err
	}
	if o.Value, err = w.fields.plain("value"); err != nil {
		return err
	}
	if o.Name == "" || w.fields["value"] == nil {
		return badRequest("name and value must be given.")
	}
	if refused := ownersOnly(who, o.Name); refused != nil {
		c.audit(ctx, who, AuditEntry{Action: actionSet, Subject: o.Name, Reason: change.Reason, Outcome: outcomeRefused, Code: codeRole})
		return refused
	}
	if o.Until, err = w.fields.end(o.Made); err != nil {
		return err
	}
	return changed(ctx)(c.options.Control.SetOverride(change, o))
}

// end is when an override ends, by "until" or "for"; nil: when somebody ends it.
func (f fields) end(now time.Time) (*time.Time, error) {
	until, err := f.text("until")
	if err != nil {
		return nil, err
	}
	span, err := f.text("for")
	if err != nil {
		return nil, err
	}
	switch {
	case f["until"] != nil && f["for"] != nil:
		return nil, badRequest("Give until or for, not both.")
	case f["until"] != nil:
		end, err := time.Parse(time.RFC3339, until)
		if err != nil {
			return nil, badRequest("until = %q must be a time like 2006-01-02T15:04:05Z.", until)
		}
		if !end.After(now) {
			return nil, badRequest("until = %q is over; it is %s.", until, now.Format(time.RFC3339))
		}
		return &end, nil
	case f["for"] != nil:
		var d config.Duration
		if err := d.UnmarshalText([]byte(span)); err != nil {
			return nil, badRequest("for = %q: %v.", span, err)
		}
		if d.Duration == 0 {
			return nil, badRequest("for = %q must be longer than nothing.", span)
		}
		end := now.Add(d.Duration)
		return &end, nil
	}
	return nil, nil
}

// ownersFields are what would take an operator round the bounds of his rates: whether rules hold at all, which of them
// a caller meets, and whether a rate is a ceiling.
var ownersFields = map[string]bool{
	"callers.plan": true, "server.mode": true,
	"rules.observe": true, "rules.over_rate": true, "rules.level": true,
}

// ownersOnly refuses an operator what is the owner's: his are rates, pools and pauses.
func ownersOnly(who visitor, name string) *problem {
	kind, _, field := config.SplitOverride(name)
	if who.role >= roleOwner || !ownersFields[kind+"."+field] {
		return nil
	}
	return newProblem(403, codeRole, "The token's role does not allow this",
		fmt.Sprintf("To override %s needs the role %s; the token %q has the role %s.", name, roleOwner, who.name, who.role))
}

// dropOverride ends an override. Its name is in the query: names hold slashes, and a path would need
// them escaped in a way that proxies undo.
func (c *Console) dropOverride(ctx *fasthttp.RequestCtx, who visitor) error {
	w, err := c.readWrite(ctx, shape{params: []string{"name"}})
	defer w.release()
	if err != nil {
		return err
	}
	if w.params["name"] == "" {
		return badRequest("name must be given in the query, e.g. ?name=callers.acme.pool.")
	}
	change, err := w.change(ctx, who)
	if err != nil {
		return err
	}
	if refused := ownersOnly(who, w.params["name"]); refused != nil {
		c.audit(ctx, who, AuditEntry{Action: actionDrop, Subject: w.params["name"], Reason: change.Reason, Outcome: outcomeRefused, Code: codeRole})
		return refused
	}
	return changed(ctx)(c.options.Control.DropOverride(change, w.params["name"]))
}
