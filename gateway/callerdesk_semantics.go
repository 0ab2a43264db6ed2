package gateway

import (
	"bytes"
	"errors"
	"time"

	"github.com/valyala/fasthttp"
	"go.uber.org/zap"

	"tidegate/gateway/console"
	"tidegate/gateway/octets"
	"tidegate/gateway/policy"
	"tidegate/gateway/registration"
)

// Where a caller's registration comes from.
const (
	fromConfiguration = "configuration"
	fromRegistration  = "registration"
)

// deskSemantic is one semantic of a caller as it is told. Level, rule, rate and wait are the business's.
type deskSemantic struct {
	Semantic     string     `json:"semantic"`
	Status       string     `json:"status"`
	Source       string     `json:"source"`
	Description  string     `json:"description"`
	ExpectedRate string     `json:"expected_rate"`
	Asked        *time.Time `json:"asked"`
	Decided      *time.Time `json:"decided"`   // by an operator; null: not, or not since it was asked again
	Reason       string     `json:"reason"`    // the operator's
	AskAgain     *time.Time `json:"ask_again"` // of a refused one: from then on it may be asked again
	Configured   bool       `json:"configured"`

	Level     string     `json:"level"` // empty, as what follows, while the platform has no such semantic
	Rule      string     `json:"rule"`
	Rate      string     `json:"rate"`
	MaxWaitMS int64      `json:"max_wait_ms"`
	Rules     []deskMeet `json:"rules"` // where there are several, all of them

	Kept *bool `json:"kept,omitempty"` // of a change: it is on the disk
}

// deskMeet is one of several rules, and the routes on which it is met.
type deskMeet struct {
	Routes    []string `json:"routes"`
	Rule      string   `json:"rule"`
	Level     string   `json:"level"`
	Rate      string   `json:"rate"`
	MaxWaitMS int64    `json:"max_wait_ms"`
}

// told is what is said of a semantic that the configuration gives.
func (x *exchange) told(s *policy.Semantic) deskSemantic {
	d := deskSemantic{Semantic: s.Name, Status: registration.Active.String(), Source: fromConfiguration}
	d.meets(x.live.policy, x.caller, s)
	return d
}

// toldOf is what is said of a registration.
func (x *exchange) toldOf(v *registration.View) deskSemantic {
	asked := v.Asked
	d := deskSemantic{
		Semantic: v.Semantic, Status: v.Status.String(), Source: fromRegistration,
		Description: v.Description, ExpectedRate: v.ExpectedRate, Asked: &asked, Reason: v.Reason,
	}
	if v.Decision != registration.Undecided && !(v.Decision == registration.Refused && v.Status == registration.Waiting) {
		decided := v.Decided
		d.Decided = &decided
	}
	if v.Status == registration.Denied {
		again := v.MayAskAgain()
		d.AskAgain = &again
	}
	if s := x.live.policy.Semantic(v.Semantic); s != nil {
		d.meets(x.live.policy, x.caller, s)
	} else {
		d.Rules = []deskMeet{}
	}
	return d
}

func (d *deskSemantic) meets(p *policy.Policy, c *policy.Caller, s *policy.Semantic) {
	rules := deskRules(p, c, s)
	d.Configured, d.Rules = true, []deskMeet{}
	d.Level, d.Rule, d.Rate, d.MaxWaitMS = rules[0].Level, rules[0].ID, rules[0].RateText, rules[0].MaxWait.Milliseconds()
	if len(rules) == 1 {
		return
	}
	for _, r := range rules {
		d.Rules = append(d.Rules, deskMeet{r.routes, r.ID, r.Level, r.RateText, r.MaxWait.Milliseconds()})
	}
}

// answerSemantics tells all semantics of a caller: those of the configuration, default among them, then the registered.
func (x *exchange) answerSemantics() bool {
	all := []deskSemantic{}
	given := map[string]bool{}
	for _, s := range x.live.policy.Semantics() {
		if x.caller.Registered(s) {
			given[s.Name] = true
			all = append(all, x.told(s))
		}
	}
	for _, v := range x.g.desk.registrations.Of(x.caller.ID) {
		if !given[v.Semantic] {
			all = append(all, x.toldOf(&v))
		}
	}
	return x.answerJSON(fasthttp.StatusOK, struct {
		Registration string         `json:"registration"` // what the plan says
		Semantics    []deskSemantic `json:"semantics"`
	}{x.caller.Plan.Registration, all})
}

func (x *exchange) answerSemantic(name string) bool {
	if s := x.live.policy.Semantic(name); s != nil && x.caller.Registered(s) {
		return x.answerJSON(fasthttp.StatusOK, x.told(s))
	}
	v, ok := x.g.desk.registrations.Get(x.caller.ID, name)
	if !ok {
		return x.deskRefuse(faultUnknown, 0)
	}
	return x.answerJSON(fasthttp.StatusOK, x.toldOf(&v))
}

// putSemantic registers, or says other words of what is registered.
func (x *exchange) putSemantic(name string) bool {
	if !isJSON(x.ctx.Request.Header.ContentType()) {
		return x.deskRefuse(faultContentType, 0)
	}
	body, ok := x.deskBody()
	if !ok {
		return false
	}
	words, err := registration.ParseWords(body)
	var fault *registration.Fault
	if errors.As(err, &fault) {
		kind := faultWords
		if fault.Malformed() {
			kind = faultBody
		}
		if fault.Member != "" {
			return x.deskRefuse(kind, 0, "["+fault.Member+"]")
		}
		return x.deskRefuse(kind, 0)
	}
	v, made, err := x.g.desk.registrations.Ask(time.Now(), x.caller.ID, name, words)
	if err != nil {
		return x.deskFailed(err)
	}
	if v.Registration == nil { // the configuration gives it
		return x.answerJSON(fasthttp.StatusOK, x.told(x.live.policy.Semantic(name)))
	}
	kept := x.g.desk.registrations.Keep(keepFor)
	x.audit("registration_asked", name, words.Description)
	d := x.toldOf(&v)
	d.Kept = &kept
	status := fasthttp.StatusOK
	switch {
	case v.Status == registration.Waiting:
		status = fasthttp.StatusAccepted
	case made:
		status = fasthttp.StatusCreated
	}
	return x.answerJSON(status, d)
}

// deleteSemantic takes a registration back.
func (x *exchange) deleteSemantic(name string) bool {
	v, left, err := x.g.desk.registrations.TakeBack(x.caller.ID, name)
	if err != nil {
		return x.deskFailed(err)
	}
	kept := x.g.desk.registrations.Keep(keepFor)
	x.audit("registration_taken_back", name, "")
	if !left {
		x.answerDesk(fasthttp.StatusNoContent, nil)
		return false
	}
	d := x.toldOf(&v)
	d.Kept = &kept
	return x.answerJSON(fasthttp.StatusOK, d)
}

// audit logs what a caller did, and notes it while callers have room in the trail.
func (x *exchange) audit(action, semantic, reason string) {
	from := ""
	if x.client.IsValid() {
		from = x.client.String()
	}
	if x.g.desk.entry(x.start, x.caller.Index) {
		x.g.auditDesk(console.AuditEntry{
			Time: time.Now(), Actor: "caller:" + x.caller.ID, From: from, Action: action,
			Subject: x.caller.ID + "/" + semantic, Reason: reason, Outcome: "done",
		})
	}
	x.g.logs.Info("registration", zap.String("action", action), zap.String("caller", x.caller.ID), zap.String("semantic", semantic), zap.ByteString("request_id", x.requestID()))
}

// deskBody reads a body of at most registration.MaxBody; not ok: it was answered, or nobody is left to be answered.
func (x *exchange) deskBody() (body []byte, ok bool) {
	limits := *x.live.body
	limits.max, limits.buffer = registration.MaxBody, registration.MaxBody
	switch result, _ := readBody(x.ctx, &limits); result {
	case bodyWhole:
		return x.ctx.Request.Body(), true
	case bodyGone:
		return nil, x.gone()
	case bodyStreams:
		return nil, x.refuse(CodeBodyTooLarge)
	default:
		return nil, x.refuse(result.code())
	}
}

// isJSON says that a content type is JSON in UTF-8.
func isJSON(kind []byte) bool {
	name, params := kind, []byte(nil)
	if i := bytes.IndexByte(kind, ';'); i >= 0 {
		name, params = kind[:i], octets.Trim(kind[i+1:])
	}
	return octets.EqualFold(octets.Trim(name), "application/json") &&
		(len(params) == 0 || octets.EqualFold(params, "charset=utf-8") || octets.EqualFold(params, `charset="utf-8"`))
}
