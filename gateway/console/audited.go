package console

import (
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	outcomeDone    = "done"
	outcomeRefused = "refused"

	// maxNoted and notedSpan bound the entries of one actor's refusals, and those of his logins and logouts: neither may
	// push out what was changed, though he went on for days.
	maxNoted  = 60
	notedSpan = time.Hour
	maxTried  = 200 // bytes of what he says it was
)

// audit has the audit trail take down what the console itself decided. Changes that were let in are for
// whoever makes them to take down.
func (c *Console) audit(ctx *fasthttp.RequestCtx, who visitor, e AuditEntry) {
	if c.options.Audited == nil || !c.noted.room(e.Outcome+" "+who.name, time.Now()) {
		return
	}
	e.From = peer(ctx.RemoteAddr())
	if who.name != "" {
		e.Actor, e.Role = who.name, who.role.String()
	}
	c.options.Audited(e)
}

// auditRole takes down that somebody's role did not let him do what an endpoint does.
func (c *Console) auditRole(ctx *fasthttp.RequestCtx, who visitor, action string) {
	if action != "" {
		c.audit(ctx, who, AuditEntry{
			Action: action, Subject: string(head(ctx.QueryArgs().Peek("name"), maxTried)), Outcome: outcomeRefused, Code: codeRole,
		})
	}
}

// noted counts entries by outcome and actor, within the span. Strangers share one count. The zero
// value is ready. Safe for concurrent use.
type noted struct {
	mu     sync.Mutex
	began  time.Time
	counts map[string]int // by the names of tokens, so bounded
}

func (n *noted) room(of string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Sub(n.began) >= notedSpan {
		n.began, n.counts = now, map[string]int{}
	}
	n.counts[of]++
	return n.counts[of] <= maxNoted
}
