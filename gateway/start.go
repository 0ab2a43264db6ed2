package gateway

import (
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"tidegate/gateway/config"
	"tidegate/gateway/console"
)

// past is what a start finds of the gateway's past.
type past struct {
	version   int // of the configuration that it begins with
	known     bool
	overrides []config.Override
	aside     []config.Aside
}

// openState opens what outlives the process. What is damaged of it is said and passed over.
func openState(dir string, log *logs) (*config.Store, error) {
	if dir == "" {
		return nil, nil
	}
	store, odd, err := config.OpenStore(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot use state.dir: %w", err)
	}
	for _, err := range odd {
		log.Warn("state", zap.Error(err))
	}
	return store, nil
}

// atStart lays the overrides that are kept over the configuration, and finds the number of its version:
// the one of the last run if it is the same, else the next.
func atStart(c *config.Config, o *Options, store *config.Store) (*config.Config, past, error) {
	f := past{version: 1}
	if store == nil {
		return c, f, nil
	}
	now := time.Now()
	f.overrides = slices.DeleteFunc(store.Overrides(), func(o config.Override) bool { return o.Ended(now) })
	if len(f.overrides) > 0 {
		var err error
		if c, f.aside, err = config.LoadWith(o.Path, o.Text, o.Environ, f.overrides); err != nil {
			return nil, f, err
		}
	}
	if kept := store.Versions(); len(kept) > 0 {
		f.version = kept[0].Number
		f.known = kept[0].Hash == c.Hash && sameOverrides(kept[0].Overrides, f.overrides)
	}
	if !f.known {
		f.version = store.Next() // above those, too, that could not be read
	}
	return c, f, nil
}

// loadFirst brings the configuration of the start into force.
func (g *Gateway) loadFirst(c *config.Config, f past) error {
	l, err := g.prepare(c, f.version)
	if err != nil {
		return err
	}
	l.text, l.overrides, l.aside = g.options.Text, f.overrides, f.aside
	l.origin = change{source: sourceStart, Change: console.Change{Actor: actorFile}}
	g.commit(l)
	if g.options.State != "" {
		g.windows.path = windowsIn(g.options.State)
		g.windows.restore(g, time.Now())
		g.seasons.open(g.options.State, time.Now(), g.logs)
	}
	for _, a := range f.aside {
		g.logs.Warn("override", zap.String("name", a.Override.Name), zap.String("set_aside", a.Why))
	}
	defer g.auditStart(f)
	if f.known {
		return nil
	}
	if err := g.keep(l); err != nil {
		g.logs.Error("config", zap.Error(err), zap.String("remedy", "the configuration is in force; make room in state.dir, or its history ends here"))
	}
	return nil
}
