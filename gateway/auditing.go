package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"tidegate/gateway/audit"
	"tidegate/gateway/config"
	"tidegate/gateway/console"
)

// The trail of what was done to the gateway. What is done is recorded where it is done, under the lock of loads, so that the
// trail has the order of the versions; what is refused is recorded where it was asked for.

// What can be done to the configuration.
const (
	actionStart         = "start"
	actionPut           = "config_put"
	actionRollback      = "config_rollback"
	actionReload        = "reload"
	actionOverrideSet   = "override_set"
	actionOverrideDrop  = "override_drop"
	actionOverrideEnded = "override_ended"
	actionAlertTest     = "alert_test"
)

// openAudit opens the trail in the state directory.
func openAudit(dir string, log *logs) *audit.Trail {
	return audit.Open(dir, func(err error) { log.Warn("state", zap.Error(err)) })
}

// audited takes an entry in: into the trail, and at once into the log, which has it whatever becomes of the disk.
func (g *Gateway) audited(e audit.Entry) {
	e = g.audit.Add(e)
	level := zapcore.InfoLevel
	if _, err := g.audit.Trouble(); err != nil {
		level = zapcore.ErrorLevel // the log may be all that there will be: no level of it leaves this out
	}
	g.logs.Log(level, "audit", zap.Uint64("id", e.ID), zap.String("actor", e.Actor), zap.String("role", e.Role), zap.String("from", e.From),
		zap.String("action", e.Action), zap.String("subject", e.Subject), zap.String("reason", e.Reason), zap.String("outcome", e.Outcome),
		zap.String("code", e.Code), zap.Int("version", e.Version), zap.String("diff", e.Diff))
}

// consoleAudited is for what the console does itself.
func (g *Gateway) consoleAudited(e console.AuditEntry) { g.audited(audit.Entry(e)) }

// auditEntries are those that fit, newest first.
func (g *Gateway) auditEntries(q console.AuditQuery) []console.AuditEntry {
	found := g.audit.Find(audit.Query(q))
	entries := make([]console.AuditEntry, len(found))
	for i, e := range found {
		entries[i] = console.AuditEntry(e)
	}
	return entries
}

func entryOf(by console.Change, action, subject string) audit.Entry {
	return audit.Entry{Actor: by.Actor, Role: by.Role, From: by.From, Reason: by.Reason, Action: action, Subject: subject, Outcome: audit.Done}
}

// auditDone records a change that is made. It is called with g.loading held.
func (g *Gateway) auditDone(c *change, old *live, done *console.Changed) {
	action, subject := c.done(old.overrides)
	e := entryOf(c.Change, action, subject)
	if e.Version = done.Version; done.Changed {
		e.Diff = g.diffSince(old)
		e.Subject = cmp.Or(e.Subject, versionName(done.Version))
	}
	g.audited(e)
}

func versionName(number int) string { return fmt.Sprintf("version %d", number) }

// done names what a change did, and to what, where the change says so.
func (c *change) done(old []config.Override) (action, subject string) {
	switch c.source {
	case sourceRollback:
		return actionRollback, c.subject
	case sourceFile, sourceSignal:
		return actionReload, ""
	case sourceEnded:
		_, dropped := differing(old, c.overrides)
		return actionOverrideEnded, strings.Join(dropped, ", ")
	case sourceOverride:
		set, dropped := differing(old, c.overrides)
		if len(set) > 0 {
			return actionOverrideSet, strings.Join(set, ", ")
		}
		return actionOverrideDrop, strings.Join(dropped, ", ")
	}
	if c.write {
		return actionPut, ""
	}
	return actionReload, ""
}

// differing are the overrides that are new or another, as they are written in the trail, and the names of those that are gone.
func differing(old, next []config.Override) (set, dropped []string) {
	for _, o := range next {
		if !slices.ContainsFunc(old, func(was config.Override) bool { return sameOverrides([]config.Override{was}, []config.Override{o}) }) {
			set = append(set, overrideSubject(o))
		}
	}
	for _, o := range old {
		if !slices.ContainsFunc(next, func(is config.Override) bool { return is.Name == o.Name }) {
			dropped = append(dropped, o.Name)
		}
	}
	return set, dropped
}

func overrideSubject(o config.Override) string {
	subject := o.Name + " = " + o.Value
	if o.Until != nil {
		subject += " until " + o.Until.UTC().Format(time.RFC3339)
	}
	return subject
}

// diffSince is what has changed since a configuration that was in force, without secrets. What was kept a moment ago has it.
func (g *Gateway) diffSince(old *live) string {
	l := g.live.Load()
	if g.store != nil {
		if kept := g.store.Versions(); len(kept) > 1 && kept[0].Number == l.version && kept[1].Number == old.version {
			return withoutSecrets(kept[0].Diff)
		}
	}
	return withoutSecrets(config.DiffText(string(old.text), string(l.text), old.overrides, l.overrides))
}

func withoutSecrets(text string) string { return string(config.RedactSecrets([]byte(text))) }

// auditStart records with which configuration the gateway begins, and what has changed since its last run.
func (g *Gateway) auditStart(f past) {
	e := audit.Entry{Actor: actorSelf, Action: actionStart, Subject: g.options.Version, Outcome: audit.Done, Version: f.version}
	if g.store != nil && !f.known {
		if kept := g.store.Versions(); len(kept) > 1 && kept[0].Number == f.version {
			e.Diff = withoutSecrets(kept[0].Diff)
		}
	}
	g.audited(e)
}

// auditRefused records a change that was wanted and not made; nil: it was made.
func (g *Gateway) auditRefused(by console.Change, action, subject string, err error) {
	if err == nil {
		return
	}
	e := entryOf(by, action, subject)
	e.Outcome, e.Code = audit.Refused, console.CodeConfigInvalid
	var failure *console.Failure
	if errors.As(err, &failure) {
		e.Code = failure.Code
	}
	g.audited(e)
}

// auditedControl is what operators can change, with those changes recorded that are refused.
type auditedControl struct{ control }

func (c auditedControl) Put(by console.Change, ifMatch string, text []byte) (*console.Changed, error) {
	done, err := c.control.Put(by, ifMatch, text)
	c.g.auditRefused(by, actionPut, "", err)
	return done, err
}

func (c auditedControl) Rollback(by console.Change, ifMatch string, number int) (*console.Changed, error) {
	done, err := c.control.Rollback(by, ifMatch, number)
	c.g.auditRefused(by, actionRollback, versionName(number), err)
	return done, err
}

func (c auditedControl) Reload(by console.Change) (*console.Changed, error) {
	done, err := c.control.Reload(by)
	c.g.auditRefused(by, actionReload, "", err)
	return done, err
}

func (c auditedControl) SetOverride(by console.Change, o config.Override) (*console.Changed, error) {
	done, err := c.control.SetOverride(by, o)
	c.g.auditRefused(by, actionOverrideSet, overrideSubject(o), err)
	return done, err
}

func (c auditedControl) DropOverride(by console.Change, name string) (*console.Changed, error) {
	done, err := c.control.DropOverride(by, name)
	c.g.auditRefused(by, actionOverrideDrop, name, err)
	return done, err
}

// trailTimeout is how long the end waits for the disk; the log has all that it may not have taken.
const trailTimeout = 2 * time.Second

func (g *Gateway) closeTrail() {
	ctx, cancel := context.WithTimeout(context.Background(), trailTimeout)
	defer cancel()
	if err := g.audit.Close(ctx); err != nil {
		g.logs.Error("state", zap.Error(err))
	}
}
