package alert

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Settings say whom to tell what.
type Settings struct {
	URL        string        // of the webhook; "": nobody is told
	SecretFile string        // what payloads are signed with; "": they are not
	Kinds      []string      // that are told; empty: all
	Repeat     time.Duration // the same condition is not told again within it
	Timeout    time.Duration // of one attempt
}

// Options are what never changes.
type Options struct {
	From Source
	// Ended is told of each alert when it was sent, has failed, is held back or is for nobody; nil: nobody is. It is called
	// outside all locks.
	Ended func(View)
	// Transport connects to the webhook instead of the network; for tests.
	Transport http.RoundTripper
}

// mostRecent is how many alerts are shown.
const mostRecent = 100

// testEvery is the shortest time between two tests.
const testEvery = 5 * time.Second

// Alerts tells what begins and ends. Safe for concurrent use; no method but Test and Close waits for anybody.
type Alerts struct {
	options Options
	sender  *sender

	wake, stop, done chan struct{}
	running          atomic.Bool
	closing          sync.Once
	sending          context.Context // of attempts
	cut              context.CancelFunc

	mu       sync.Mutex
	settings Settings
	secret   []byte // as it could last be read
	desk     desk
	queue    queue
	recent   []*entry  // oldest first
	paused   time.Time // the receiver wants nothing before
	testing  bool
	tested   time.Time
	failing  time.Time // since when attempts fail; zero: they do not
	failures int       // in a row
	err      error
}

// Errors of Test.
var (
	ErrNoWebhook = errors.New("no webhook is configured")
	ErrBusy      = errors.New("a test was sent a moment ago")
)

// New makes alerts that tell nobody before Apply.
func New(o Options) *Alerts {
	if o.Ended == nil {
		o.Ended = func(View) {}
	}
	a := &Alerts{
		options: o, sender: newSender(o.Transport, o.From.Version), desk: newDesk(),
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	a.desk.off = true
	a.sending, a.cut = context.WithCancel(context.Background())
	return a
}

// Apply changes the settings. What waits to be sent goes where they say. The secret is read anew; the error says why it
// cannot be, and the one before is used on, or, if there was none, nothing is sent until it can be read.
func (a *Alerts) Apply(s Settings) error {
	var secret []byte
	var err error
	if s.SecretFile != "" && s.URL != "" {
		if secret, err = secretOf(s.SecretFile); err != nil {
			err = fmt.Errorf("cannot read the secret that alerts are signed with: %w", err)
		}
	}
	s.Kinds = slices.Clone(s.Kinds)
	if s.Timeout <= 0 {
		s.Timeout = 5 * time.Second
	}
	a.mu.Lock()
	if secret != nil || a.settings.SecretFile != s.SecretFile {
		a.secret = secret
	}
	if a.settings.URL != s.URL {
		a.paused, a.failing, a.failures, a.err = time.Time{}, time.Time{}, 0, nil
	}
	a.settings = s
	a.desk.kinds, a.desk.repeat, a.desk.off = s.Kinds, s.Repeat, s.URL == ""
	var ended []View
	if a.desk.off {
		for _, e := range a.queue.pending {
			e.Status = StatusOff
			ended = append(ended, e.View)
		}
		a.queue.pending = nil
	}
	a.mu.Unlock()
	a.tell(ended)
	return err
}

// Begin says that a condition is true.
func (a *Alerts) Begin(now time.Time, e Event) {
	a.mu.Lock()
	ended := a.takeLocked(a.desk.begin(now, e)...)
	a.mu.Unlock()
	a.tell(ended)
}

// End says that a condition is over. The event's kind and subject are those of Begin.
func (a *Alerts) End(now time.Time, e Event) {
	a.mu.Lock()
	var ended []View
	if r := a.desk.end(now, e); r != nil {
		ended = a.takeLocked(r)
	}
	a.mu.Unlock()
	a.tell(ended)
}

// Tick tells what was held back and may be told by now. It is to be called about once a second.
func (a *Alerts) Tick(now time.Time) {
	a.mu.Lock()
	again, more := a.desk.tick(now)
	ended := a.takeLocked(more...)
	ended = append(ended, a.pendLocked(again)...)
	a.mu.Unlock()
	a.tell(ended)
}

// takeLocked shows alerts, and queues those that are to be sent. It returns what has come to its end by that.
func (a *Alerts) takeLocked(entries ...*entry) (ended []View) {
	for _, e := range entries {
		a.showLocked(e)
		if e.Status != StatusPending {
			ended = append(ended, e.View)
		}
	}
	return append(ended, a.pendLocked(entries)...)
}

func (a *Alerts) showLocked(e *entry) {
	a.recent = append(a.recent, e)
	if over := len(a.recent) - mostRecent; over > 0 {
		a.recent = slices.Delete(a.recent, 0, over)
	}
}

// pendLocked queues those that are to be sent.
func (a *Alerts) pendLocked(entries []*entry) (ended []View) {
	for _, e := range entries {
		if e.Status != StatusPending {
			continue
		}
		e.encode(a.options.From)
		if gone := a.queue.add(e); gone != nil {
			gone.Status, gone.Error = StatusFailed, "too many alerts waited to be sent"
			ended = append(ended, gone.View)
		}
	}
	return ended
}

func (a *Alerts) tell(ended []View) {
	for _, v := range ended {
		a.options.Ended(v)
	}
	a.rouse()
}

func (a *Alerts) rouse() {
	select {
	case a.wake <- struct{}{}:
	default: // is awake already
	}
}

// Recent are the last alerts, newest first, at most a hundred, and whether there is a webhook.
func (a *Alerts) Recent() (webhook bool, alerts []View) {
	a.mu.Lock()
	defer a.mu.Unlock()
	alerts = make([]View, 0, len(a.recent))
	for _, e := range slices.Backward(a.recent) {
		alerts = append(alerts, e.View)
	}
	return a.settings.URL != "", alerts
}

// Pending is how many wait to be sent.
func (a *Alerts) Pending() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.queue.pending)
}

// Trouble says why alerts do not arrive, and since when; nil: they do, or there were none.
func (a *Alerts) Trouble() (since time.Time, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failing, a.err
}
