package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"tidegate/gateway/config"
	"tidegate/gateway/console"
)

// control is what operators can change: the config file, the versions that were live, and the overrides
// above it. All changes of the configuration go through Gateway.apply, one after another, wherever they
// come from.
type control struct{ g *Gateway }

// Sources of a version.
const (
	sourceStart    = "start"
	sourceFile     = "file"
	sourceSignal   = "signal"
	sourceAPI      = "api"
	sourceRollback = "rollback"
	sourceOverride = "override"
	sourceEnded    = "override_ended"
)

// The gateway's own name, and the file's owner, whoever he is, where versions name an actor.
const (
	actorSelf = "tidegate"
	actorFile = "file"
)

// change is a wish to bring a configuration into force.
type change struct {
	text      []byte            // of the config file
	overrides []config.Override // above it
	write     bool              // the text goes into the file first

	console.Change
	source  string
	subject string // what is changed, where the rest does not say it
}

// apply brings a change into force and keeps it as a version, or changes nothing. It is called with
// g.loading held. What can fail comes before anything is written, and what is written is the file
// first: if the process ends in between, the next one starts with what was wanted.
func (g *Gateway) apply(c change) (*console.Changed, error) {
	loaded, aside, err := config.LoadWith(g.options.Path, c.text, g.options.Environ, c.overrides)
	if err != nil {
		return nil, err
	}
	return g.applyLoaded(c, loaded, aside)
}

func (g *Gateway) applyLoaded(c change, loaded *config.Config, aside []config.Aside) (*console.Changed, error) {
	old := g.live.Load()
	g.options.fit(loaded)
	same := loaded.Hash == old.config.Hash && sameOverrides(c.overrides, old.overrides)
	var next *live
	if !same {
		var err error
		if next, err = g.prepare(loaded, old.version+1); err != nil {
			return nil, err
		}
		next.text, next.overrides, next.aside, next.origin = c.text, c.overrides, aside, c
	}
	if failure := g.write(c, old); failure != nil {
		if next != nil {
			next.recording.drop()
		}
		return nil, failure
	}
	done := &console.Changed{Version: old.version, Hash: loaded.Hash, ETag: etag(loaded.Hash), Changed: !same, RestartNeeded: []string{}, Notes: []string{}}
	if !same {
		g.commit(next)
		g.bringWaiting()
		done.Version = next.version
		if err := g.keep(next); err != nil {
			g.logs.Error("config", zap.Error(err), zap.String("remedy", "the configuration is in force; make room in state.dir, or its history ends here"))
			done.Notes = append(done.Notes, err.Error())
		}
	}
	g.loaded(done, g.live.Load(), c)
	g.auditDone(&c, old, done)
	return done, nil
}

// write puts what is wanted where the next start finds it; nil: it is there.
func (g *Gateway) write(c change, old *live) *console.Failure {
	if c.write {
		if err := config.WriteFile(g.options.Path, c.text); err != nil {
			return &console.Failure{Code: console.CodeNotWritten, Detail: err.Error()}
		}
	}
	if g.store == nil || sameOverrides(c.overrides, old.overrides) {
		return nil
	}
	// One whose time is over ends whatever the disk says; at the next start it is past its end, too.
	if err := g.store.SetOverrides(c.overrides); err != nil && c.source != sourceEnded {
		return &console.Failure{Code: console.CodeStateNotWritten, Detail: err.Error()}
	}
	return nil
}

// loaded tells everybody of a load that held.
func (g *Gateway) loaded(done *console.Changed, l *live, c change) {
	done.RestartNeeded = append(done.RestartNeeded, needRestart(g.started, l.config)...)
	note := ""
	if len(done.RestartNeeded) > 0 {
		note = "taken, but a restart is needed for: " + strings.Join(done.RestartNeeded, ", ")
		done.Notes = append(done.Notes, note)
	}
	if c.source != sourceOverride && c.source != sourceEnded { // those say nothing of the file
		g.telemetry.loaded(true, time.Now())
		g.loadError.Store(note)
		g.reloadHeld(time.Now(), done.Version)
	}
	if note := g.applyAlerts(l.config); note != "" {
		done.Notes = append(done.Notes, note)
	}
	for _, a := range l.aside {
		done.Notes = append(done.Notes, fmt.Sprintf("override %s is set aside: %s", a.Override.Name, a.Why))
		g.logs.Warn("override", zap.String("name", a.Override.Name), zap.String("set_aside", a.Why))
	}
	g.logs.Info("config", zap.Int("version", done.Version), zap.String("hash", short(l.config.Hash)), zap.Int("overrides", len(l.overrides)), zap.Bool("changed", done.Changed),
		zap.String("actor", c.Actor), zap.String("from", c.From), zap.String("source", c.source), zap.String("reason", c.Reason), zap.Strings("restart_needed", done.RestartNeeded))
	if done.Changed {
		g.warnOverPromise()
	}
}

// keep puts what has come into force among the versions.
func (g *Gateway) keep(l *live) error {
	if g.store == nil {
		return nil
	}
	return g.keepAfter(l)
}

// asVersion is the configuration as it is kept, without a diff.
func (l *live) asVersion() config.Version {
	by := l.origin
	return config.Version{
		Number: l.version, Time: l.loadedAt, Actor: by.Actor, From: by.From, Source: by.source, Reason: by.Reason,
		Hash: l.config.Hash, Text: string(l.text), Overrides: l.overrides,
	}
}

// sameOverrides says that two lists hold the same, whoever made them and when.
func sameOverrides(a, b []config.Override) bool {
	return slices.EqualFunc(a, b, func(a, b config.Override) bool {
		return a.Name == b.Name && a.Value == b.Value && a.Made.Equal(b.Made) && (a.Until == nil) == (b.Until == nil) &&
			(a.Until == nil || a.Until.Equal(*b.Until))
	})
}

func (c control) Text() ([]byte, string) {
	l := c.g.live.Load()
	return l.text, etag(l.config.Hash)
}

// etag is the entity tag of a config file's text.
func etag(hash string) string { return `"` + hash + `"` }

func (c control) Version(number int) (config.Version, string, error) {
	for _, v := range c.Versions() {
		if v.Number == number {
			return v, etag(v.Hash), nil
		}
	}
	return config.Version{}, "", unknownVersion(number)
}

func unknownVersion(number int) error {
	return &console.Failure{Code: console.CodeVersionUnknown, Detail: fmt.Sprintf("version %d is not kept: the last %d are", number, config.KeptVersions)}
}

// Versions are those of state.dir, before them the one in force where it is not among them: nothing is kept,
// or it could not be, or it has come this moment.
func (c control) Versions() []config.Version { return c.g.versions() }

func (c control) Put(by console.Change, ifMatch string, text []byte) (*console.Changed, error) {
	g := c.g
	g.loading.Lock()
	defer g.loading.Unlock()
	l := g.live.Load()
	if err := matches(ifMatch, l); err != nil {
		return nil, err
	}
	// Nobody's edit is overwritten unseen: the file must be what is in force.
	if onDisk, err := config.ReadAgain(g.options.Path); err == nil && !bytes.Equal(onDisk, l.text) {
		return nil, &console.Failure{
			Code: console.CodePrecondition, ETag: etag(l.config.Hash),
			Detail: fmt.Sprintf("the file has been changed meanwhile and is not what is in force; reload it, or roll back to version %d, and make the change again", l.version),
		}
	}
	return g.wanted(g.apply(change{text: text, overrides: l.overrides, write: true, Change: by, source: sourceAPI}))
}

func (c control) Rollback(by console.Change, ifMatch string, number int) (*console.Changed, error) {
	g := c.g
	g.loading.Lock()
	defer g.loading.Unlock()
	l := g.live.Load()
	if ifMatch != "" {
		if err := matches(ifMatch, l); err != nil {
			return nil, err
		}
	}
	v, _, err := c.Version(number)
	if err != nil {
		return nil, err
	}
	if by.Reason == "" {
		by.Reason = fmt.Sprintf("back to version %d", number)
	}
	return g.wanted(g.apply(change{text: []byte(v.Text), overrides: l.overrides, write: true, Change: by, source: sourceRollback, subject: versionName(number)}))
}

func (c control) Reload(by console.Change) (*console.Changed, error) {
	g := c.g
	g.loading.Lock()
	defer g.loading.Unlock()
	text, err := config.ReadAgain(g.options.Path)
	if err != nil {
		g.rejected(err)
		return nil, &console.Failure{Code: console.CodeConfigInvalid, Detail: err.Error()}
	}
	done, err := g.apply(change{text: text, overrides: g.live.Load().overrides, Change: by, source: sourceAPI})
	if err != nil {
		g.rejected(err) // the file is faulty, whoever asked
	}
	return g.wanted(done, err)
}

// matches compares an If-Match with what is in force.
func matches(ifMatch string, l *live) error {
	if console.MatchTag(ifMatch, etag(l.config.Hash)) {
		return nil
	}
	return &console.Failure{
		Code: console.CodePrecondition, ETag: etag(l.config.Hash),
		Detail: fmt.Sprintf("version %d is in force, and it is not the one that the change was made from; look at it and make the change again", l.version),
	}
}

// wanted words an error for whoever wanted the change.
func (g *Gateway) wanted(done *console.Changed, err error) (*console.Changed, error) {
	var problems config.Problems
	var failure *console.Failure
	switch {
	case err == nil:
		return done, nil
	case errors.As(err, &failure):
		return nil, failure
	case errors.As(err, &problems):
		return nil, &console.Failure{Code: console.CodeConfigInvalid, Detail: fmt.Sprintf("%d problem(s), nothing was changed", len(problems)), Problems: problems}
	}
	return nil, &console.Failure{Code: console.CodeConfigInvalid, Detail: err.Error() + "; nothing was changed"}
}

func (c control) Overrides() []console.OverrideView {
	l := c.g.live.Load()
	views := make([]console.OverrideView, len(l.overrides))
	for i, o := range l.overrides {
		views[i].Override = o
		for _, a := range l.aside {
			if a.Override.Name == o.Name {
				views[i].Aside = a.Why
			}
		}
	}
	return views
}

func (c control) SetOverride(by console.Change, o config.Override) (*console.Changed, error) {
	g := c.g
	g.loading.Lock()
	defer g.loading.Unlock()
	l := g.live.Load()
	now := time.Now()
	o.Actor, o.Role, o.Reason, o.Made = by.Actor, by.Role, by.Reason, now
	if o.Ended(now) {
		return nil, &console.Failure{Code: console.CodeOverrideInvalid, Detail: fmt.Sprintf("until = %s is past already", o.Until.Format(time.RFC3339))}
	}
	if err := config.CheckOverride(l.config, o); err != nil {
		code := console.CodeOverrideInvalid
		if bound := (*config.BoundError)(nil); errors.As(err, &bound) {
			code = console.CodeRateBound
		}
		return nil, &console.Failure{Code: code, Detail: err.Error()}
	}
	next := slices.DeleteFunc(slices.Clone(l.overrides), func(old config.Override) bool { return old.Name == o.Name })
	return g.wanted(g.apply(change{text: l.text, overrides: append(next, o), Change: by, source: sourceOverride}))
}

func (c control) DropOverride(by console.Change, name string) (*console.Changed, error) {
	g := c.g
	g.loading.Lock()
	defer g.loading.Unlock()
	l := g.live.Load()
	next := slices.DeleteFunc(slices.Clone(l.overrides), func(old config.Override) bool { return old.Name == name })
	if len(next) == len(l.overrides) {
		return nil, &console.Failure{Code: console.CodeOverrideUnknown, Detail: fmt.Sprintf("there is no override %q", name)}
	}
	return g.wanted(g.apply(change{text: l.text, overrides: next, Change: by, source: sourceOverride}))
}

// endOverrides takes back the overrides whose time is over. It is called about once a second; an end is
// a moment of the calendar, so it is the wall clock that says when.
func (g *Gateway) endOverrides(now time.Time) {
	ended := func(o config.Override) bool { return o.Ended(now) }
	if !slices.ContainsFunc(g.live.Load().overrides, ended) {
		return
	}
	g.loading.Lock()
	defer g.loading.Unlock()
	l := g.live.Load()
	next := slices.DeleteFunc(slices.Clone(l.overrides), ended)
	var names []string
	for _, o := range l.overrides {
		if ended(o) {
			names = append(names, o.Name)
		}
	}
	_, err := g.apply(change{
		text: l.text, overrides: next, source: sourceEnded,
		Change: console.Change{Actor: actorSelf, Reason: "the time of " + strings.Join(names, ", ") + " is over"},
	})
	if err != nil {
		g.logs.Error("override", zap.Strings("cannot_end", names), zap.Error(err))
	}
}
