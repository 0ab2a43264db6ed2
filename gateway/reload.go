package gateway

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.uber.org/zap"

	"tidegate/gateway/config"
	"tidegate/gateway/console"
)

// watch follows the config file until ctx ends: a change is taken by itself, and at SIGHUP. A
// configuration that cannot be used changes nothing and is shown.
func (g *Gateway) watch(ctx context.Context) {
	w := config.NewWatcher(g.options.Path, g.live.Load().config.Hash)
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hup:
				g.signalled.Store(true)
				w.Reload()
			}
		}
	}()
	w.Run(ctx, g.take)
}

// take brings the config file as it is now into force, or says why not. The file is read under the lock:
// what the watcher read a moment ago may be older than what an operator has put there since.
func (g *Gateway) take(text []byte, err error) {
	g.loading.Lock()
	defer g.loading.Unlock()
	l := g.live.Load()
	source := sourceFile
	if g.signalled.Swap(false) {
		source = sourceSignal
	}
	if g.options.Path != "" {
		text, err = config.ReadAgain(g.options.Path)
	}
	by := console.Change{Actor: actorFile}
	if err == nil {
		if source == sourceFile && g.options.Path != "" && bytes.Equal(text, l.text) && g.loadError.Load() == "" {
			return // an operator's own change has come back by way of the file
		}
		_, err = g.apply(change{text: text, overrides: l.overrides, source: source, Change: by})
	}
	if err != nil {
		g.rejected(err)
		g.auditRefused(by, actionReload, "", err)
	}
}

// rejected records a configuration that was not taken: the one before stays in force.
func (g *Gateway) rejected(err error) {
	g.loadError.Store(err.Error())
	g.telemetry.loaded(false, time.Now())
	g.reloadFailed(time.Now(), err)
	var problems config.Problems
	if !errors.As(err, &problems) {
		g.logs.Error("config", zap.Error(err), zap.Int("running_version", g.live.Load().version))
		return
	}
	for i, p := range problems {
		if i == 20 {
			g.logs.Error("config", zap.Int("more_problems", len(problems)-i))
			break
		}
		g.logs.Error("config", zap.String("problem", p.String()), zap.Int("running_version", g.live.Load().version))
	}
}

// needRestart lists what a reload cannot bring into force, since the start.
func needRestart(old, next *config.Config) []string {
	var keys []string
	for _, k := range []struct {
		key     string
		changed bool
	}{
		{"server.listen", old.Server.Listen != next.Server.Listen},
		{"server.max_header_bytes", old.Server.MaxHeaderBytes != next.Server.MaxHeaderBytes},
		{"server.max_connections", old.Server.MaxConnections < next.Server.MaxConnections},
		{"admin.listen", old.Admin.Listen != next.Admin.Listen},
		{"log.format", old.Log.Format != next.Log.Format},
		{"state.dir", old.State.Dir != next.State.Dir},
	} {
		if k.changed {
			keys = append(keys, k.key)
		}
	}
	return keys
}

func short(hash string) string { return hash[:min(len(hash), 12)] }
