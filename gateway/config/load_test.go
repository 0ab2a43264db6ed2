package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
)

const small = `[server]
listen = "127.0.0.1:9000"
max_header_bytes = "32KiB"

[[levels]]
name = "standard"

[[pools]]
name = "shared"
[[pools]]
name = "vip"
seats = 8

[[semantics]]
name = "default"
level = "standard"
rate = "5/s"

[[plans]]
name = "free"
rules = [
  { semantic = "default", rate = "2/s" },
]

[[upstreams]]
name = "api"
targets = [{ url = "http://10.0.0.5:80" }]
health = { fall = 3 }

[[callers]]
id = "acme"
`

func load(t *testing.T, text string, environ ...string) *Config {
	t.Helper()
	c, err := LoadBytes("config.toml", []byte(text), environ)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFileOverridesDefaultsAndEnvironmentOverridesFile(t *testing.T) {
	c := load(t, small, "TIDEGATE__SERVER__LISTEN=127.0.0.1:9001", "HOME=/", "TIDEGATE_OTHER=x")
	if c.Server.Listen != "127.0.0.1:9001" || c.Server.MaxHeaderBytes != 32*kib || c.Server.MaxBodyBytes != 8*mib {
		t.Errorf("server = %+v", c.Server)
	}
}

func TestEnvironmentGivesScalarsOfEveryKind(t *testing.T) {
	c := load(t, small,
		"TIDEGATE__SERVER__MAX_CONNECTIONS=5", "TIDEGATE__SERVER__RATE_PER_IP=7/s", "TIDEGATE__SERVER__BODY_TIMEOUT=7s",
		"TIDEGATE__SERVER__BODY_BUFFER=7KiB", "TIDEGATE__DETECTOR__ENABLED=false", "TIDEGATE__DETECTOR__RATIO=2.5", "TIDEGATE__LOG__LEVEL=debug")
	s, d := c.Server, c.Detector
	if s.MaxConnections != 5 || s.RatePerIP.Text != "7/s" || s.BodyTimeout.String() != "7s" || s.BodyBuffer != 7*kib ||
		d.Enabled || d.Ratio != 2.5 || c.Log.Level != "debug" {
		t.Errorf("server = %+v, detector = %+v, log = %+v", s, d, c.Log)
	}
}

func TestListElementsAreFilledOneByOne(t *testing.T) {
	c := load(t, small)
	if p := c.Pools[0]; p.Seats.N != 64 || p.ExcessCeiling != 0.8 || !p.Borrow {
		t.Errorf("first pool = %+v", p)
	}
	if p := c.Pools[1]; p.Seats.N != 8 || p.ExcessCeiling != 0.8 || !p.Borrow {
		t.Errorf("second pool = %+v", p)
	}
	if a := c.Callers[0]; !a.Enabled || a.Plan != "free" || a.Pool != "shared" {
		t.Errorf("caller = %+v", a)
	}
	if r := c.Plans[0].Rules[0]; r.Rate.Text != "2/s" || r.Cost != nil || r.Level != nil {
		t.Errorf("rule = %+v", r)
	}
	if u := c.Upstreams[0]; u.Targets[0].Weight != 1 || u.Health != defaultUpstream.Health || u.Timeout != defaultUpstream.Timeout {
		t.Errorf("upstream = %+v", u)
	}
}

func TestConfigWithoutCallersRoutesAndUpstreamsIsValid(t *testing.T) {
	text, _, _ := strings.Cut(small, "[[upstreams]]")
	if c := load(t, text); len(c.Callers)+len(c.Routes)+len(c.Upstreams) != 0 {
		t.Errorf("%+v", c)
	}
}

func TestPositionsOfTablesElementsAndInlineTables(t *testing.T) {
	c := load(t, small, "TIDEGATE__LOG__LEVEL=debug")
	for key, want := range map[string]string{
		"server":                      "config.toml:1",
		"server.listen":               "config.toml:2",
		"pools[0]":                    "config.toml:8",
		"pools[1]":                    "config.toml:10",
		"pools[1].seats":              "config.toml:12",
		"pools[1].max_waiting":        "config.toml:10", // left out: its table
		"semantics[0]":                "config.toml:14",
		"plans[0].rules[0]":           "config.toml:22",
		"plans[0].rules[0].rate":      "config.toml:22",
		"upstreams[0].targets[0]":     "config.toml:27",
		"upstreams[0].health.fall":    "config.toml:28",
		"callers[0].id":               "config.toml:31",
		"log.level":                   "TIDEGATE__LOG__LEVEL",
		"detector.ratio":              "config.toml",
		"callers[0].semantics[0]":     "config.toml:30",
		"upstreams[0].eject.failures": "config.toml:25",
	} {
		if got := c.At(key); got != want {
			t.Errorf("%s stands at %s, want %s", key, got, want)
		}
	}
	if line, column := c.Position("plans[0].rules[0].rate"); line != 22 || column != 27 {
		t.Errorf("the rule's rate stands at %d:%d, want 22:27", line, column)
	}
}

func TestPositionsOfDottedKeysAndNestedLists(t *testing.T) {
	places, err := locate([]byte("a.b.c = 1\r\n[[x]]\n[[x.y]]\nz = [\n  1, # one\n  [2, 3],\n]\n[[x]]\n[x.t.u]\nv = { w = { q = 1 }, \"r.s\" = 2 }\n"))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]place{
		"a": {1, 1}, "a.b": {1, 3}, "a.b.c": {1, 5},
		"x[0]": {2, 3}, "x[0].y[0]": {3, 3}, "x[0].y[0].z": {4, 1}, "x[0].y[0].z[0]": {5, 3}, "x[0].y[0].z[1][1]": {6, 7},
		"x[1]": {8, 3}, "x[1].t.u": {9, 6}, "x[1].t.u.v": {10, 1}, "x[1].t.u.v.w.q": {10, 13}, "x[1].t.u.v.r.s": {10, 22},
	} {
		if places[key] != want {
			t.Errorf("%s stands at %v, want %v", key, places[key], want)
		}
	}
}

func TestConfigKnowsItsFileAndHash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gate.toml")
	if err := os.WriteFile(path, []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.File != path || len(c.Hash) != 64 || c.Hash == load(t, small+"\n").Hash || c.Hash != load(t, small).Hash {
		t.Errorf("file %s, hash %s", c.File, c.Hash)
	}
	if want := filepath.Join(filepath.Dir(path), "data"); c.StateDir() != want {
		t.Errorf("state in %s, want %s", c.StateDir(), want)
	}
	if c.RecordDir() != "" {
		t.Errorf("a trace is kept in %s", c.RecordDir())
	}
	for dir, want := range map[string]string{"traces": filepath.Join(filepath.Dir(path), "traces"), "/var/traces": "/var/traces"} {
		if c, err = Load(path, []string{"TIDEGATE__RECORD__DIR=" + dir}); err != nil || c.RecordDir() != want {
			t.Errorf("a trace is kept in %s, want %s (%v)", c.RecordDir(), want, err)
		}
	}
	if _, err := Load(path+".missing", nil); err == nil {
		t.Error("a missing file was read")
	}
}

func TestSettingsSayWhereEachValueComesFrom(t *testing.T) {
	c := load(t, small, "TIDEGATE__LOG__LEVEL=debug")
	got := map[string]Setting{}
	for _, s := range c.Settings() {
		got[s.Key] = s
	}
	for _, want := range []Setting{
		{"server.listen", "server.listen", `"127.0.0.1:9000"`, false, "config.toml:2"},
		{"pools[1].seats", "pools.vip.seats", "8", false, "config.toml:12"},
		{"pools[0].seats", "pools.shared.seats", "64", true, "config.toml:8"},
		{"plans[0].rules[0].rate", "plans.free.rules[0].rate", `"2/s"`, false, "config.toml:22"},
		{"log.level", "log.level", `"debug"`, false, "TIDEGATE__LOG__LEVEL"},
	} {
		if got[want.Key] != want {
			t.Errorf("%+v, want %+v", got[want.Key], want)
		}
	}
	if _, ok := got["plans[0].rules[0].cost"]; ok {
		t.Error("a field that the rule leaves to the semantic is listed")
	}
}

func TestByteOrderMarkAndCarriageReturnsAreTaken(t *testing.T) {
	c := load(t, "\xef\xbb\xbf"+strings.ReplaceAll(small, "\n", "\r\n"))
	if c.At("pools[1].seats") != "config.toml:12" {
		t.Errorf("seats stand at %s", c.At("pools[1].seats"))
	}
}

func TestLoadsAtTheSameTimeDoNotMeet(t *testing.T) {
	want := load(t, small)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			c, err := LoadBytes("config.toml", []byte(small), []string{fmt.Sprintf("TIDEGATE__METRICS__MAX_CALLERS=%d", i)})
			if err != nil || c.Metrics.MaxCallers != i {
				t.Errorf("load %d: %v, %v", i, c.Metrics, err)
				return
			}
			c.Pools[0].Name = "changed" // must reach nobody else
		})
	}
	wg.Wait()
	if !reflect.DeepEqual(load(t, small), want) {
		t.Error("the same file loads differently now")
	}
}

func TestFilesThatAreNoConfigAreRefused(t *testing.T) {
	deep := strings.Repeat("a.", 2000) + "b = 1"
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "config.toml: levels: at least one level is needed"},
		{"cut inside a text", small[:20], "config.toml:2:11: "},
		{"cut between tables", small[:strings.Index(small, "[[plans]]")], "config.toml: plans: at least one plan is needed"},
		{"not TOML at all", "<html>", "config.toml:1:1: "},
		{"a key twice", "[server]\nlisten = \"a:1\"\nlisten = \"b:1\"", "config.toml:3:1: "},
		{"not text", "a = \"\xff\"", "config.toml:1:6: "},
		{"deep by dots", deep, "config.toml:1:65: keys are nested more than 32 levels deep"},
		{"deep by brackets", "a = " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "nested more than 32 levels deep"},
		{"deep by tables", "a = " + strings.Repeat("{a = ", 1000) + "1" + strings.Repeat("}", 1000), "nested more than 32 levels deep"},
		{"huge", small + strings.Repeat("#", MaxFile), "config.toml: the file is larger than 4 MiB"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := LoadBytes("config.toml", []byte(tc.text), nil)
			if _, ok := err.(Problems); !ok {
				t.Fatalf("%T: %v", err, err)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v\nwant %s", err, tc.want)
			}
		})
	}
}

// Whatever the file holds: no panic, and either a configuration or problems that say where and what.
func FuzzLoad(f *testing.F) {
	data, err := os.ReadFile(reference)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(small))
	f.Add([]byte("pools = 5\n[[levels]]\nname = [1]\n[plans]\n"))
	f.Add([]byte("[[plans]]\nrules = [{}, 5, {rate = nan}]\n[[plans.rules]]\n"))
	f.Add([]byte("a = [[1, {b = 2}], 1979-05-27, 07:32:00]\n\"\" = 1\n[x.\"y.z\"]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		given := bytes.Clone(data)
		c, err := LoadBytes("config.toml", data, nil)
		if !bytes.Equal(given, data) {
			t.Fatal("the file's bytes were changed")
		}
		if err == nil {
			if c.Hash == "" || len(c.Levels) == 0 {
				t.Fatalf("loaded %+v", c)
			}
			c.Settings()
			return
		}
		ps, ok := err.(Problems)
		if !ok || len(ps) == 0 {
			t.Fatalf("%T: %v", err, err)
		}
		lines := bytes.Count(data, []byte("\n")) + 1
		for _, p := range ps {
			if p.Message == "" || p.Line < 0 || p.Line > lines || p.Line > 0 && p.Column < 1 {
				t.Fatalf("%+v of %d lines", p, lines)
			}
		}
	})
}
