package config

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// server checks the data plane's listener and its limits.
func (v *validator) server() {
	s := v.c.Server
	if _, err := parseListen(s.Listen); err != nil {
		v.add("server.listen", s.Listen, "", "%v", err)
	}
	within(v, "server.max_connections", s.MaxConnections, 1, maxCount)
	v.oneOf("server.mode", s.Mode, "enforce", "observe")
	// A header's room is taken for each connection, so a slip here costs gigabytes.
	within(v, "server.max_header_bytes", s.MaxHeaderBytes, kib, mib)
	within(v, "server.max_body_bytes", s.MaxBodyBytes, 1, 1<<50)
	within(v, "server.max_body_memory", s.MaxBodyMemory, 1, 1<<50)
	within(v, "server.body_buffer", s.BodyBuffer, 0, 1<<30)
	within(v, "server.answer_buffer", s.AnswerBuffer, 32*kib, 1<<30) // less than one read of an answer
	within(v, "server.min_body_rate", s.MinBodyRate, 0, 1<<40)
	if s.BodyBuffer > s.MaxBodyMemory && !v.known("server.body_buffer") {
		v.add("server.max_body_memory", s.MaxBodyMemory, "", "less than one body_buffer (%s): no body would fit", s.BodyBuffer)
	}
	v.positive("server.header_timeout", s.HeaderTimeout)
	v.positive("server.body_timeout", s.BodyTimeout)
	v.positive("server.write_stall_timeout", s.WriteStallTimeout)
	v.positive("server.idle_timeout", s.IdleTimeout)
	for i, p := range s.TrustedProxies {
		if _, err := parsePrefix(p); err != nil {
			v.add(index("server.trusted_proxies", i), p, "", "%v", err)
		}
	}
}

// offLoopback says that others than this machine can reach a listener. An address that cannot be read has
// a problem of its own, and none that follows from it.
func offLoopback(listen string) bool {
	loopback, err := parseListen(listen)
	return err == nil && !loopback
}

// admin checks the operators' listener.
func (v *validator) admin() {
	a := v.c.Admin
	if _, err := parseListen(a.Listen); err != nil {
		v.add("admin.listen", a.Listen, "", "%v", err)
	} else if _, port, _ := net.SplitHostPort(a.Listen); a.Listen == v.c.Server.Listen && port != "0" {
		v.add("admin.listen", a.Listen, "give it a port of its own", "the same address as server.listen")
	}
	if offLoopback(a.Listen) && len(a.Tokens) == 0 {
		v.add("admin.listen", a.Listen, "add admin.tokens (`tidegate key` makes one), or listen on 127.0.0.1",
			"off loopback a token is needed")
	}
	tokens := v.unique("token")
	hashes := map[[32]byte]string{}
	for i, t := range a.Tokens {
		key := index("admin.tokens", i)
		v.named(key+".name", t.Name, tokens)
		roles := []string{"viewer", "operator", "owner"}
		if v.required(key+".role", t.Role, oneOf(roles)) {
			v.oneOf(key+".role", t.Role, roles...)
		}
		if !v.required(key+".sha256", t.SHA256, "`tidegate key` makes a token and its sha256") {
			continue
		}
		v.hash(key+".sha256", t.SHA256, offLoopback(a.Listen), "token", hashes)
	}
}

// hash checks the sha256 of a key or a token: readable, nobody else's, and no public one where others
// than this machine can use it.
func (v *validator) hash(key, text string, public bool, what string, seen map[[32]byte]string) {
	sum, err := ParseHash(text)
	if err != nil {
		v.add(key, text, "`tidegate key` makes a new one and prints its sha256", "%v", err)
		return
	}
	if first, ok := seen[sum]; ok {
		v.add(key, text, fmt.Sprintf("give each its own %s", what), "the same %s stands at %s", what, v.at(first))
		return
	}
	seen[sum] = key
	if plain, demo := demoKey(sum); demo && public {
		v.add(key, text, "make your own with `tidegate key`, or listen on 127.0.0.1",
			"this is the demo key %q, which everybody knows: it is refused off loopback", plain)
	}
}

// observing checks state, trace, log, metrics and calendar.
func (v *validator) observing() {
	v.required("state.dir", v.c.State.Dir, `the default is "data"`)
	v.recording()
	l := v.c.Log
	v.oneOf("log.level", l.Level, "debug", "info", "warn", "error")
	v.oneOf("log.format", l.Format, "json", "console")
	v.oneOf("log.access", l.Access, "off", "sampled", "all")
	within(v, "log.access_sample_per_second", l.AccessSamplePerSecond, 0, maxCount)
	within(v, "metrics.max_callers", v.c.Metrics.MaxCallers, 0, maxCount)
	if zone := v.c.Time.Zone; zone == "" {
		v.add("time.zone", zone, "", `write "Local", "UTC" or a name like "Asia/Shanghai"`)
	} else if _, err := v.c.Time.Location(); err != nil {
		v.add("time.zone", zone, `write "Local", "UTC" or a name like "Asia/Shanghai"`, "cannot load the time zone: %v", err)
	}
}

// recording checks the trace of what was offered.
func (v *validator) recording() {
	r := v.c.Record
	if r.Dir != "" && v.c.RecordDir() == v.c.StateDir() {
		v.add("record.dir", r.Dir, "give the trace a directory of its own", "the same directory as state.dir")
	}
	// Below it a file would hold less than what is compressed together.
	within(v, "record.file_bytes", r.FileBytes, 64*kib, 1<<40)
	within(v, "record.max_bytes", r.MaxBytes, 64*kib, 1<<50)
	if r.MaxBytes < 2*r.FileBytes && !v.known("record.file_bytes") {
		v.add("record.max_bytes", r.MaxBytes, "lower record.file_bytes, or raise this", "less than two files of record.file_bytes (%s): a new one would leave nothing of the past", r.FileBytes)
	}
	v.atLeast("record.file_span", r.FileSpan, time.Second)
}

// bounds checks what is remembered, and what is said to those who wait.
func (v *validator) bounds() {
	l := v.c.Limits
	within(v, "limits.max_flows", l.MaxFlows, 1, maxCount)
	within(v, "limits.max_tenants", l.MaxTenants, 1, maxCount)
	within(v, "limits.refusals_kept", l.RefusalsKept, 0, maxCount)
	within(v, "limits.history_series", l.HistorySeries, 0, 1_000_000)
	v.positive("queue.ticket_ttl", v.c.Queue.TicketTTL)
}

// identify checks where requests are said to carry what.
func (v *validator) identify() {
	id := v.c.Identify
	taken := map[string]string{}
	v.places("identify.key", id.Key, true, taken)
	v.places("identify.semantic", id.Semantic, false, taken)
	v.places("identify.tenant", id.Tenant, false, taken)
	if len(id.Key) == 0 {
		v.add("identify.key", nil, `the default is ["header:X-API-Key", "bearer"]`, "at least one place is needed, or no caller is ever known")
	}
	if id.Anonymous == "" {
		return
	}
	i := slices.IndexFunc(v.c.Callers, func(c Caller) bool { return c.ID == id.Anonymous })
	switch {
	case i < 0:
		v.add("identify.anonymous", id.Anonymous, didYouMean(id.Anonymous, v.callerIDs.list), "no such caller")
	case len(v.c.Callers[i].Keys) > 0:
		v.add("identify.anonymous", id.Anonymous, "make a caller for it that has none",
			"this caller has keys (%s); who comes without a key must not be taken for one who has it", v.at(index("callers", i)))
	}
}

// places checks a list of places; taken holds those that are in use.
func (v *validator) places(key string, list []string, bearer bool, taken map[string]string) {
	for i, s := range list {
		at := index(key, i)
		p, err := ParsePlace(s)
		if err == nil && p.Kind == "bearer" && !bearer {
			err = fmt.Errorf("only a key comes as %q", s)
		}
		if err != nil {
			v.add(at, s, "", "%v", err)
			continue
		}
		same := s
		if p.Kind == "header" {
			same = strings.ToLower(s) // headers know no case, parameters do
		}
		if first, ok := taken[same]; ok {
			v.add(at, s, "", "the place is in use already, by %s", first)
			continue
		}
		taken[same] = at
	}
}

// longestWindow is how far the detector keeps a flow's recent past.
const longestWindow = 6400 * time.Millisecond

// detector checks the change detection.
func (v *validator) detector() {
	d := v.c.Detector
	v.atLeast("detector.window", d.Window, 100*time.Millisecond)
	if d.Window.Duration > longestWindow {
		v.add("detector.window", d.Window, "", "at most %s is looked back here", Duration{longestWindow})
	}
	if d.Ratio <= 1 || d.Ratio > 1000 {
		v.add("detector.ratio", d.Ratio, "1.5 looks for steps to one and a half times what is expected", "a ratio is above 1 and at most 1000")
	}
	v.positive("detector.rise", d.Rise)
	if d.MinRate.IsZero() {
		v.add("detector.min_rate", d.MinRate.Text, `the default is "10/s"`, "a rate is needed, or the first request of a day would be a surge")
	}
	if d.Learn.Duration < d.Window.Duration {
		v.add("detector.learn", d.Learn, "", "shorter than detector.window (%s)", d.Window)
	}
	v.oneOf("detector.season", d.Season, "hour-of-week", "off")
}
