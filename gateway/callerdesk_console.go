package gateway

import (
	"errors"
	"time"

	"go.uber.org/zap"

	"tidegate/gateway/console"
	"tidegate/gateway/policy"
	"tidegate/gateway/registration"
)

// registrations are all that callers have made, as operators see them: those that wait first.
func (g *Gateway) registrations() []console.RegistrationView {
	return registrationViews(g.live.Load().policy, g.desk.registrations.All())
}

// registrationsBy are those of one caller.
func (g *Gateway) registrationsBy(caller string) []console.RegistrationView {
	return registrationViews(g.live.Load().policy, g.desk.registrations.Of(caller))
}

// decideRegistration is an owner's word on a registration: approve, refuse or, with nil, forget. It stands whether
// the disk takes it or not.
func (g *Gateway) decideRegistration(c console.Change, caller, semantic string, approve *bool) (console.RegistrationView, error) {
	e := console.AuditEntry{
		Time: time.Now(), Actor: c.Actor, Role: c.Role, From: c.From, Action: "registration_forgotten",
		Subject: caller + "/" + semantic, Reason: c.Reason, Outcome: "done",
	}
	if approve != nil {
		e.Action = map[bool]string{true: "registration_approved", false: "registration_refused"}[*approve]
	}
	v, err := g.desk.registrations.Decide(e.Time, c.Actor, c.Reason, caller, semantic, approve)
	if err != nil {
		failure := &console.Failure{Code: console.CodeRegistrationUnknown, Detail: err.Error()}
		if why := (*registration.Failure)(nil); errors.As(err, &why) && why.Why == registration.SemanticUnknown {
			failure.Code = console.CodeSemanticUnknown
		}
		e.Outcome, e.Code = "refused", failure.Code
		g.auditDesk(e)
		return console.RegistrationView{}, failure
	}
	g.desk.registrations.Keep(keepFor)
	g.auditDesk(e)
	g.logs.Info("registration", zap.String("action", e.Action), zap.String("caller", caller), zap.String("semantic", semantic),
		zap.String("actor", c.Actor), zap.String("from", c.From), zap.String("reason", c.Reason))
	return registrationView(g.live.Load().policy, &v), nil
}

func registrationViews(p *policy.Policy, all []registration.View) []console.RegistrationView {
	views := make([]console.RegistrationView, len(all))
	for i := range all {
		views[i] = registrationView(p, &all[i])
	}
	return views
}

func registrationView(p *policy.Policy, v *registration.View) console.RegistrationView {
	r := console.RegistrationView{
		Caller: v.Caller, Semantic: v.Semantic, Description: v.Description, ExpectedRate: v.ExpectedRate,
		Status: v.Status.String(), Configured: v.Terms.Configured(), Asked: v.Asked, By: v.By, Reason: v.Reason,
	}
	if v.Decision != registration.Undecided {
		decided := v.Decided
		r.Decided = &decided
	}
	if v.ByPlan() {
		asked := v.Asked
		r.Decided, r.By = &asked, "plan"
	}
	if s, c := p.Semantic(v.Semantic), p.Caller(v.Caller); s != nil {
		r.Level = s.Rule.Level
		if c != nil {
			r.Level = deskRules(p, c, s)[0].Level
		}
	}
	return r
}
