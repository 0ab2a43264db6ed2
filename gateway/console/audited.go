package console

import (
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	outcomeDone    = "done"
	outcomeRefused = "refused"

	maxNoted = 60 // entries of refusals a minute and actor: who is turned away must not push out what was done
)

// audit has the audit trail take down what the console itself decided. Changes that were let in are for
// whoever makes them to take down.
func (c *Console) audit(ctx *fasthttp.RequestCtx, who visitor, e AuditEntry) {
	if c.options.Audited == nil || e.Outcome == outcomeRefused && !c.noted.room(who.name, time.Now()) {
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
			Action: action, Subject: string(ctx.QueryArgs().Peek("name")), Outcome: outcomeRefused, Code: codeRole,
		})
	}
}

// noted counts the entries of refusals by actor, within the minute. Strangers share one count. The zero
// value is ready. Safe for concurrent use.
type noted struct {
	mu     sync.Mutex
	began  time.Time
	counts map[string]int // by the names of tokens, so bounded
}

func (n *noted) room(actor string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Sub(n.began) >= time.Minute {
		n.began, n.counts = now, map[string]int{}
	}
	n.counts[actor]++
	return n.counts[actor] <= maxNoted
}
