package upstream

import (
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"tidegate/gateway/config"
)

// SampleURL is the target that is served from inside the binary.
const SampleURL = "builtin:sample"

const (
	defaultAnswerBuffer = 256 << 10
	defaultWriteStall   = 30 * time.Second
	defaultBodyStall    = 30 * time.Second
	defaultTimeout      = 30 * time.Second
	defaultConnect      = 2 * time.Second
)

// Options are what an Upstream takes from outside its own table of the configuration. Zero values
// mean the defaults given.
type Options struct {
	AnswerBuffer int           // bytes an answer is read ahead, at least 32 KiB; 256 KiB
	WriteStall   time.Duration // longest pause between two writes to a client; 30 s
	BodyStall    time.Duration // longest pause in a request body streamed under the seat; 30 s
	MinBodyRate  int64         // bytes a second that such a body must have on average after 5 s; 0: any
	Seats        int           // most requests in flight: as many idle connections are kept for each target; 512

	// Sample answers for builtin:sample. If it is nil and a target asks for it, one is made, and closed
	// with the Upstream.
	Sample *Sample

	// Failed, if set, is called for each attempt that failed, also one that a retry made good. It may
	// be called from several goroutines at once and must not block.
	Failed func(target string, reason Reason)

	// Dial, if set, makes the connections to http targets; net.Dialer does otherwise.
	Dial func(address string, timeout time.Duration) (net.Conn, error)
}

// Upstream forwards requests to a set of targets and keeps connections to them. It is safe for
// concurrent use.
type Upstream struct {
	name  string
	fleet atomic.Pointer[fleet]

	mu        sync.Mutex // held by Update and Close
	ownSample *Sample
}

// fleet is one configuration of an upstream: immutable, swapped as a whole. The targets in it live on
// from one to the next.
type fleet struct {
	opts     Options
	targets  []*target
	balance  balance
	timeout  time.Duration // to the first byte of an answer
	stall    time.Duration
	connect  time.Duration
	retries  int
	weights  []int         // each at least 1
	schedule []uint16      // round robin: indexes of targets, each as often as its weight says
	turn     atomic.Uint32 // the one thing that moves: whose turn it is
}

// New makes the upstream that c describes. It connects to nothing yet. The error names the target or
// key that cannot be used.
func New(c config.Upstream, o Options) (*Upstream, error) {
	u := &Upstream{name: c.Name}
	if err := u.Update(c, o); err != nil {
		return nil, err
	}
	return u, nil
}

// withDefaults fills in what o leaves open.
func (o Options) withDefaults() Options {
	if o.AnswerBuffer <= 0 {
		o.AnswerBuffer = defaultAnswerBuffer
	}
	o.AnswerBuffer = max(o.AnswerBuffer, blockSize)
	o.WriteStall = positive(o.WriteStall, defaultWriteStall)
	o.BodyStall = positive(o.BodyStall, defaultBodyStall)
	if o.Seats <= 0 {
		o.Seats = 512
	}
	if o.Dial == nil {
		o.Dial = dialTCP
	}
	return o
}

// Update takes a new configuration and new options, of which Dial and Sample count for new targets
// only. A target whose URL is still there keeps its connections and its count; one that is gone
// finishes what it has in flight and keeps no connection after it. On an error nothing has changed.
func (u *Upstream) Update(c config.Upstream, o Options) error {
	o = o.withDefaults()
	u.mu.Lock()
	defer u.mu.Unlock()
	old := u.fleet.Load()
	kept := map[string]*target{}
	if old != nil {
		for _, t := range old.targets {
			kept[t.url] = t
		}
	}
	next := &fleet{
		timeout: positive(c.Timeout.Duration, defaultTimeout), stall: positive(c.StallTimeout.Duration, defaultTimeout),
		connect: positive(c.ConnectTimeout.Duration, defaultConnect), retries: c.Retries, opts: o,
	}
	if err := next.setBalance(c); err != nil {
		return err
	}
	for _, ct := range c.Targets {
		if t := kept[ct.URL]; t != nil {
			next.targets = append(next.targets, t)
			continue
		}
		t, err := u.newTarget(ct.URL, &o)
		if err != nil {
			return fmt.Errorf("cannot use target %q of upstream %q: %w", ct.URL, c.Name, err)
		}
		kept[ct.URL] = t
		next.targets = append(next.targets, t)
	}
	u.fleet.Store(next)
	if old != nil {
		for _, t := range old.targets {
			if !next.has(t) {
				t.retire()
			}
		}
	}
	return nil
}

func positive(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

func (f *fleet) has(t *target) bool {
	for _, other := range f.targets {
		if other == t {
			return true
		}
	}
	return false
}

func (u *Upstream) newTarget(raw string, o *Options) (*target, error) {
	if raw == SampleURL {
		s := o.Sample
		if s == nil {
			if u.ownSample == nil {
				u.ownSample = NewSample(SampleOptions{})
			}
			s = u.ownSample
		}
		dial := func(string, time.Duration) (net.Conn, error) { return s.Dial() }
		return &target{url: raw, addr: "sample", authority: "sample", dial: dial, maxIdle: o.Seats}, nil
	}
	address, authority, err := parseTarget(raw)
	if err != nil {
		return nil, err
	}
	return &target{url: raw, addr: address, authority: authority, dial: o.Dial, maxIdle: o.Seats}, nil
}

// parseTarget splits http://host[:port] into the address to connect to and the authority, which is
// the Host of requests that have none.
func parseTarget(raw string) (address, authority string, err error) {
	p, err := url.Parse(raw)
	if err != nil {
		return "", "", fmt.Errorf("%w; want http://host:port", err)
	}
	if p.Scheme != "http" || p.Hostname() == "" || p.User != nil || p.RawQuery != "" || p.ForceQuery || p.Fragment != "" ||
		(p.Path != "" && p.Path != "/") {
		return "", "", fmt.Errorf("want http://host:port without path, query or user, or %s", SampleURL)
	}
	port := p.Port()
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(p.Hostname(), port), p.Host, nil
}

func dialTCP(address string, timeout time.Duration) (net.Conn, error) {
	d := net.Dialer{Timeout: timeout}
	return d.Dial("tcp", address)
}

// Close lets go of the idle connections. What is in flight finishes, and its connection is closed
// then. Requests that were admitted before may still be forwarded; no connection is kept for them.
func (u *Upstream) Close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, t := range u.fleet.Load().targets {
		t.retire()
	}
	if u.ownSample != nil {
		u.ownSample.Close()
		u.ownSample = nil
	}
}

// Name is the upstream's name in the configuration.
func (u *Upstream) Name() string { return u.name }

// TargetState is a target as the snapshot and the metrics show it.
type TargetState struct {
	URL      string
	Healthy  bool  // its last connection worked, or none was tried yet
	InFlight int64 // requests whose seat is not free yet
}

// Targets says how the targets are now, in the order of the configuration.
func (u *Upstream) Targets() []TargetState {
	f := u.fleet.Load()
	states := make([]TargetState, len(f.targets))
	for i, t := range f.targets {
		states[i] = TargetState{URL: t.url, Healthy: !t.down.Load(), InFlight: t.inFlight.Load()}
	}
	return states
}

func (f *fleet) failed(t *target, r Reason) {
	if f.opts.Failed != nil {
		f.opts.Failed(t.url, r)
	}
}

// DropIdle closes the connections that are kept for later requests.
func (u *Upstream) DropIdle() {
	for _, t := range u.fleet.Load().targets {
		t.dropIdle()
	}
}
