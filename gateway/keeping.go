package gateway

import (
	"slices"
	"time"

	"go.uber.org/zap"

	"tidegate/gateway/config"
)

// Versions that could not be kept when they came into force are kept when the disk is back: nothing that was decided is
// missing in the history because there was no room at the time.

// keepAfter keeps a version, after those before it that could not be kept. It is called with g.loading held.
func (g *Gateway) keepAfter(l *live) error {
	k := &g.keeping
	unkept := append(slices.Clone(k.notKept()), l)
	unkept = unkept[max(0, len(unkept)-config.KeptVersions):] // the store would drop the others again
	k.unkept.Store(&unkept)
	err := g.keepWaiting()
	if err != nil {
		k.note(time.Now(), err)
	}
	return err
}

// keepWaiting keeps what waits for it, oldest first. It is called with g.loading held.
func (g *Gateway) keepWaiting() error {
	k := &g.keeping
	for unkept := k.notKept(); len(unkept) > 0; {
		if err := g.store.Keep(unkept[0].asVersion()); err != nil {
			return err
		}
		unkept = unkept[1:]
		k.unkept.Store(&unkept)
	}
	k.unkept.Store(nil)
	return nil
}

// notKept are the versions that could not be kept, oldest first.
func (k *keeping) notKept() []*live {
	if unkept := k.unkept.Load(); unkept != nil {
		return *unkept
	}
	return nil
}

// versions are those that are kept, before them those that could not be, and the one in force, newest first.
func (g *Gateway) versions() []config.Version {
	more := append(slices.Clone(g.keeping.notKept()), g.live.Load())
	var list []config.Version
	if g.store != nil {
		list = g.store.Versions()
	}
	for _, l := range more {
		if len(list) > 0 && list[0].Number >= l.version {
			continue // it is there, or was kept since we looked
		}
		v := l.asVersion()
		if len(list) > 0 {
			v.Diff = config.DiffText(list[0].Text, v.Text, list[0].Overrides, v.Overrides)
		}
		list = append([]config.Version{v}, list...)
	}
	return list[:min(len(list), config.KeptVersions)]
}

// flushVersions brings to the disk what is kept.
func (g *Gateway) flushVersions(now time.Time) {
	if g.store == nil {
		return
	}
	if err := g.store.Flush(); err != nil {
		g.keeping.note(now, err)
		g.logs.Error("state", zap.Error(err))
	}
}
