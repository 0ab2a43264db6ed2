package replay

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidegate/gateway/config"
)

func configFor(tb testing.TB, text string) *config.Config {
	tb.Helper()
	c, err := config.LoadBytes("config.toml", []byte(text), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// platform is a config of one pool of four seats; its callers and rules are those of the tests.
const platform = `
[detector]
min_rate = "1/s"
[[levels]]
name = "realtime"
[[levels]]
name = "batch"
[[pools]]
name = "shared"
seats = 4
[[pools]]
name = "vip"
seats = 2
[[semantics]]
name = "chat"
level = "realtime"
rate = "2/s"
max_wait = "10s"
[[semantics]]
name = "export"
level = "batch"
rate = "20/s"
max_wait = "60s"
[[semantics]]
name = "default"
level = "batch"
rate = "5/s"
max_wait = "5s"
[[plans]]
name = "free"
[[plans]]
name = "paid"
rules = [{ semantic = "chat", rate = "200/s" }, { route = "chat", semantic = "export", rate = "9/s" }]
[[plans]]
name = "tenants"
count_by = "tenant"
[[upstreams]]
name = "api"
targets = [{ url = "builtin:sample" }]
[[routes]]
name = "reports"
path = "/v1/reports/*"
upstream = "api"
semantics = ["export"]
[[routes]]
name = "chat"
path = "/v1/chat/*"
upstream = "api"
semantics = ["chat", "export"]
[[callers]]
id = "acme"
plan = "free"
semantics = ["chat"]
[[callers]]
id = "off"
enabled = false
semantics = ["chat"]
[[callers]]
id = "shop"
plan = "tenants"
semantics = ["chat"]
[[callers]]
id = "vip"
pool = "vip"
plan = "paid"
semantics = ["chat"]
`

// written writes a trace; one whose name ends in .gz is compressed.
func written(tb testing.TB, name, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	data := []byte(text)
	if strings.HasSuffix(name, ".gz") {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(data); err != nil {
			tb.Fatal(err)
		}
		if err := z.Close(); err != nil {
			tb.Fatal(err)
		}
		data = b.Bytes()
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// opened opens traces.
func opened(tb testing.TB, o Options, paths ...string) *Trace {
	tb.Helper()
	t, err := Open(paths, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { t.Close() })
	return t
}

// arrivals are all of a trace, as "ms caller/type".
func arrivals(t *Trace) (list []string) {
	var a Arrival
	for t.Next(&a) {
		list = append(list, fmt.Sprintf("%d %s/%s", a.At/1e6, a.Origin.Caller, a.Origin.Type))
	}
	return list
}

// play is a trace that a test writes, played.
type play struct {
	t      testing.TB
	engine *Engine
	events bytes.Buffer
	places *origins
}

func newPlay(tb testing.TB, text string, p Play) *play {
	tb.Helper()
	s := &play{t: tb, places: newOrigins(1000)}
	var err error
	if p.Log == nil {
		if p.Log, err = NewLog(&s.events, ""); err != nil {
			tb.Fatal(err)
		}
	}
	if s.engine, err = NewEngine(configFor(tb, text), p); err != nil {
		tb.Fatal(err)
	}
	return s
}

// offer offers a request, with the trace's clock in seconds.
func (s *play) offer(at float64, caller, kind string) {
	s.arrive(&Arrival{At: int64(at*1000+0.5) * 1e6, Origin: s.places.origin(originKey{Caller: caller, Type: kind})})
}

func (s *play) arrive(a *Arrival) { s.engine.Arrive(a) }

// poisson offers n a second, each at its own moment, for so long.
func (s *play) poisson(from, seconds, n int, caller, kind string, seed uint64) {
	o := s.places.origin(originKey{Caller: caller, Type: kind})
	for i := range seconds {
		b := newBin(o, int64(from+i)*1e9, 1e9, int64(n), Random, seedOf(seed, caller))
		for b.left > 0 {
			s.engine.Arrive(&Arrival{At: b.at, Origin: o})
			b.next()
		}
	}
}

// happened is a line of the log.
type happened struct {
	T        int64   `json:"t_ms"`
	Event    string  `json:"event"`
	Config   string  `json:"config"`
	Caller   string  `json:"caller"`
	Semantic string  `json:"semantic"`
	Tenant   string  `json:"tenant"`
	Route    string  `json:"route"`
	Code     string  `json:"code"`
	Rule     string  `json:"rule"`
	Band     string  `json:"band"`
	Waited   float64 `json:"waited_ms"`
	Observed float64 `json:"observed"`
	Expected float64 `json:"expected"`
	Ratio    float64 `json:"ratio"`
	Score    float64 `json:"score"`
	Needed   float64 `json:"needed"`
	Since    int64   `json:"since_ms"`
	Slot     string  `json:"slot"`
	Learning bool    `json:"learning"`
}

// finished ends the play and gives the events of some kinds.
func (s *play) finished(kinds ...string) (list []happened) {
	s.t.Helper()
	s.engine.Finish()
	if err := s.engine.log.Flush(); err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(s.events.String()) {
		var h happened
		d := json.NewDecoder(strings.NewReader(line))
		if err := d.Decode(&h); err != nil {
			s.t.Fatalf("%s: %v", line, err)
		}
		for _, k := range kinds {
			if h.Event == k {
				list = append(list, h)
			}
		}
	}
	return list
}

// row is what became of one caller's semantic.
func (s *play) row(caller, semantic string) Row {
	s.t.Helper()
	for _, r := range s.engine.Report(0).Rows {
		if r.Caller == caller && r.Semantic == semantic {
			return r
		}
	}
	s.t.Fatalf("nothing is told of %s/%s", caller, semantic)
	return Row{}
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }
