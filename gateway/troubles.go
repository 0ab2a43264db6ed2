package gateway

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"tidegate/gateway/console"
)

// What the gateway cannot do at present, and runs on without. Each part that needs a disk, or somebody to talk to, says so
// itself; here it is gathered, for the page, the metrics, the log and the alerts.

// troubled is a part that goes on when it cannot do its work. Safe for concurrent use; it waits for nothing.
type troubled interface {
	// Trouble is what is wrong, and since when; nil: nothing is.
	Trouble() (since time.Time, err error)
}

// troubleFunc is troubled as it says.
type troubleFunc func() (since time.Time, err error)

func (f troubleFunc) Trouble() (since time.Time, err error) { return f() }

// trouble is troubled by what it was last told. The zero value is not.
type trouble struct {
	mu    sync.Mutex
	since time.Time
	err   error
}

// note tells how the last attempt went, and says whether one went otherwise before.
func (t *trouble) note(now time.Time, err error) (changed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	changed = (err == nil) != (t.err == nil)
	if changed {
		t.since = now
	}
	t.err = err
	return changed
}

func (t *trouble) Trouble() (since time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		return time.Time{}, nil
	}
	return t.since, t.err
}

// What can be in trouble.
const (
	troubleVersions = "versions"
	troubleWindows  = "windows"
	troubleSeasons  = "seasons"
	troubleAudit    = "audit"
	troubleDesk     = "registrations"
	troubleHistory  = "history"
	troubleRecord   = "record"
	troubleWebhook  = "webhook"
)

// troublePart is one part and what to do about it.
type troublePart struct {
	what, remedy string
	of           troubled
	on           bool // as far as is told; the detecting goroutine's own
	since        time.Time
}

// watchOver adds a part to those that are asked whether they are in trouble. It is to be called before Run.
func (g *Gateway) watchOver(what, remedy string, of troubled) {
	g.parts = append(g.parts, &troublePart{what: what, remedy: remedy, of: of})
}

func (g *Gateway) watchOverOwn() {
	g.watchOver(troubleVersions, "make state.dir writable, or make room there; what is in force stays in force, and is kept once the disk takes it", &g.keeping)
	g.watchOver(troubleWindows, "make state.dir writable; until then a restart gives slow rates a fresh window", &g.windows)
	g.watchOver(troubleSeasons, "make state.dir writable; until then a restart forgets what hours are usual", &g.seasons.file)
	g.watchOver(troubleAudit, "make state.dir writable; until then entries are in memory and in the log", g.audit)
	g.watchOver(troubleDesk, "make state.dir writable; what callers register counts, and is forgotten by a restart until then", g.desk.registrations)
	g.watchOver(troubleHistory, historyRemedy, troubleFunc(g.historyTrouble))
	g.watchOver(troubleRecord, "make room in record.dir, or switch it off; requests are served, and not recorded", &g.recordTrouble)
	g.watchOver(troubleWebhook, "look at alerts.webhook and who answers there; the test on the page says more", g.alerts)
	g.troubles = g.troubleViews
}

// troubleViews are the troubles of this moment.
func (g *Gateway) troubleViews() []console.TroubleView {
	views := []console.TroubleView{}
	for _, p := range g.parts {
		if since, err := p.of.Trouble(); err != nil {
			views = append(views, console.TroubleView{What: p.what, Error: err.Error(), Since: since, Remedy: p.remedy})
		}
	}
	return views
}

// lookAtTroubles tells the log and the alerts what has changed. It is called about once a second.
func (g *Gateway) lookAtTroubles(now time.Time) {
	for _, p := range g.parts {
		since, err := p.of.Trouble()
		switch {
		case err != nil && !p.on:
			p.on, p.since = true, since
			g.logs.Error("trouble", zap.String("what", p.what), zap.Error(err), zap.Time("since", since), zap.String("remedy", p.remedy))
		case err == nil && p.on:
			p.on = false
			g.logs.Info("trouble", zap.String("what", p.what), zap.Bool("over", true), zap.Float64("lasted_s", round(now.Sub(p.since).Seconds())))
		}
		g.alerts.state(now, p.what, p.remedy, since, err)
	}
}

// keeping is what becomes of versions and overrides in state.dir. A disk is only known to be broken when somebody writes, and
// nobody may do so for days; so now and then a small file is written.
type keeping struct {
	trouble
	dir    string // empty: nothing is kept
	next   time.Time
	busy   atomic.Int64            // since when the tending goroutine is at work; ns since 1970, 0: it is not
	unkept atomic.Pointer[[]*live] // in force or once so, and not kept yet, oldest first; written under g.loading
}

const (
	probeEvery = 5 * time.Second
	// busyFor is how long the tending goroutine may be at one round's work before the disk is held to hang.
	busyFor = 15 * time.Second
)

// Trouble is also that of a disk that never answers.
func (k *keeping) Trouble() (since time.Time, err error) {
	if at := k.busy.Load(); at > 0 && time.Since(time.Unix(0, at)) > busyFor {
		return time.Unix(0, at), errors.New("the disk of state.dir does not answer")
	}
	return k.trouble.Trouble()
}

// lookAtState finds out whether state.dir can be written, and keeps what could not be kept before.
func (g *Gateway) lookAtState(now time.Time) {
	k := &g.keeping
	if k.dir == "" || now.Before(k.next) {
		return
	}
	k.next = now.Add(probeEvery)
	err := probe(k.dir)
	if err == nil && len(k.notKept()) > 0 {
		g.loading.Lock()
		err = g.keepWaiting()
		g.loading.Unlock()
	}
	k.note(now, err)
}

// probe writes as much as a small file takes. What a crash leaves of it is removed as all that was never whole.
func probe(dir string) error {
	path := filepath.Join(dir, ".probe.tmp")
	err := os.WriteFile(path, make([]byte, 4096), 0o600)
	return errors.Join(err, os.Remove(path))
}
