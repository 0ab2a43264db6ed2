package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"

	"tidegate/loadtest/stage"
)

// crashConfig is the reload scenario's config of a step, and a caller with a window of its own for each round that
// spends one.
func crashConfig(n, rounds int) stage.Config {
	c := reloadConfig(n)
	c.Semantics = append(c.Semantics, stage.Semantic{Name: "metered", Level: "standard", Rate: fmt.Sprintf("%d/10m", windowCost), MaxWait: "1s", OverRate: "reject"})
	c.Routes = append(c.Routes, stage.Route{Name: "metered", Path: "/v1/metered/*", Semantics: []string{"metered"}})
	for round := range rounds {
		if kindOf(round) == spendsWindow {
			id := windowCaller(round)
			c.Callers = append(c.Callers, stage.Caller{ID: id, Key: "crash-" + id, Plan: "standard", Pool: "shared", Semantics: []string{"metered"}})
		}
	}
	return c
}

// ledger is what the gateway has acknowledged, and the one write that may be under way. Either that write is in
// force after a crash, whole, or nothing of it is.
type ledger struct {
	text      []byte            // of the config, acknowledged
	overrides map[string]string // by name, acknowledged
	version   int               // the highest that was acknowledged
	hashes    map[int]string    // of versions, as the gateway told them: a version never changes

	pendingText      []byte            // nil: none
	pendingOverrides map[string]string // nil: none
}

func newLedger(text []byte) ledger {
	return ledger{text: text, overrides: make(map[string]string), hashes: make(map[int]string)}
}

func (l *ledger) underway() bool { return l.pendingText != nil || l.pendingOverrides != nil }

// acknowledge takes what was pending for done.
func (l *ledger) acknowledge(version int) {
	if l.pendingText != nil {
		l.text = l.pendingText
	}
	if l.pendingOverrides != nil {
		l.overrides = l.pendingOverrides
	}
	l.version = max(l.version, version)
	l.pendingText, l.pendingOverrides = nil, nil
}

// settle takes for done what is found after a crash, and says whether it may be: the acknowledged, or the pending.
func (l *ledger) settle(text []byte, overrides map[string]string) (textHeld, overridesHeld, pendingWon bool) {
	textHeld, overridesHeld = bytes.Equal(text, l.text), maps.Equal(overrides, l.overrides)
	if l.pendingText != nil && bytes.Equal(text, l.pendingText) {
		textHeld, pendingWon = true, true
	}
	if l.pendingOverrides != nil && maps.Equal(overrides, l.pendingOverrides) {
		overridesHeld, pendingWon = true, true
	}
	l.text, l.overrides, l.pendingText, l.pendingOverrides = text, overrides, nil, nil
	return textHeld, overridesHeld, pendingWon
}

// writeConfigs puts changed configs as fast as they are taken, until nobody answers.
func (c *crashed) writeConfigs(ctx context.Context) error {
	_, etag, err := c.admin.ConfigText(ctx)
	if gone(err) {
		return nil
	}
	for err == nil {
		c.step++
		if c.ledger.pendingText, err = c.putter.render(c.step); err != nil {
			return err
		}
		var changed stage.Changed
		changed, etag, err = c.admin.PutConfig(ctx, etag, c.ledger.pendingText)
		if gone(err) {
			return nil
		}
		if err == nil {
			c.ledger.acknowledge(changed.Version)
			c.ledger.hashes[changed.Version] = changed.Hash
			c.tally.Written++
		}
	}
	return fmt.Errorf("cannot put a config: %w", err)
}

// writeOverrides sets and drops overrides as fast as they are taken, until nobody answers.
func (c *crashed) writeOverrides(ctx context.Context) error {
	for {
		c.step++
		name, value := overrideOf(c.step)
		next := maps.Clone(c.ledger.overrides)
		var changed stage.Changed
		var err error
		if _, set := next[name]; set && c.step%3 == 0 {
			delete(next, name)
			c.ledger.pendingOverrides = next
			changed, err = c.admin.DropOverride(ctx, name)
		} else {
			next[name] = value
			c.ledger.pendingOverrides = next
			changed, err = c.admin.SetOverride(ctx, name, value, "crash test")
		}
		switch {
		case gone(err):
			return nil
		case err != nil:
			return fmt.Errorf("cannot change the override %s: %w", name, err)
		}
		c.ledger.acknowledge(changed.Version)
		c.tally.Written++
	}
}

// overrideOf is an override that fits each config of the scenario; each is unlike the last of its name.
func overrideOf(n int) (name, value string) {
	switch n % 3 {
	case 0:
		return "pools.shared.seats", fmt.Sprint(60 + n%20)
	case 1:
		return "rules.semantic/export.rate", fmt.Sprintf("%d/s", 300+n%50)
	default:
		return "callers.shop.enabled", fmt.Sprint(n%2 == 0)
	}
}
