package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidegate/gateway/config"
)

// rate reads "N/duration" or "N/s".
func rate(text string) config.Rate {
	n, per, _ := strings.Cut(text, "/")
	count, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		panic(err)
	}
	if per == "s" {
		per = "1s"
	}
	d, err := time.ParseDuration(per)
	if err != nil {
		panic(err)
	}
	return config.Rate{N: count, Per: d, Text: text}
}

func keyHash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func semantic(name, level, rateText string, wait time.Duration) config.Semantic {
	return config.Semantic{
		Name: name, Level: level, Rate: rate(rateText), Cost: 1, MaxWait: config.Duration{Duration: wait},
		OverInFlight: "queue", OverRate: "queue",
	}
}

// exampleConfig has callers, routes and rules enough for every branch of the choice.
func exampleConfig() *config.Config {
	c := &config.Config{
		Identify: config.Identify{Anonymous: "visitor"},
		Levels:   []config.Level{{Name: "realtime"}, {Name: "standard", MinShare: 0.1}, {Name: "batch", MinShare: 0.05}},
		Pools: []config.Pool{
			{Name: "shared", Seats: config.Seats{N: 64}, ExcessCeiling: 0.8, MaxWaiting: 20000},
			{Name: "vip", Seats: config.Seats{N: 32}},
		},
		Semantics: []config.Semantic{
			semantic("chat", "realtime", "200/s", 2*time.Second),
			semantic("export", "batch", "20/s", time.Minute),
			semantic("default", "batch", "5/s", 5*time.Second),
			semantic("audit", "standard", "7/s", time.Second),
		},
		Plans: []config.Plan{
			{Name: "free", CountBy: "caller", Weight: 1, Rules: []config.Rule{{Rate: new(rate("20/60s"))}}},
			{Name: "paid", CountBy: "tenant", Weight: 3, CallerRate: rate("500/s")},
		},
		Upstreams: []config.Upstream{{Name: "api"}},
		Routes: []config.Route{
			{Name: "chat", Path: "/v1/chat/*", Upstream: "api", Semantics: []string{"chat"}, Public: true},
			{Name: "reports", Path: "/v1/reports/*", Upstream: "api", Semantics: []string{"export"}},
			{Name: "mixed", Path: "/v1/mixed", Upstream: "api", Semantics: []string{"chat", "export"}},
			{Name: "open", Path: "/v1/open", Upstream: "api"},
		},
		Callers: []config.Caller{
			{ID: "acme", Name: "Acme Ltd", Keys: []string{keyHash("acme-key")}, Plan: "paid", Pool: "vip", Semantics: []string{"chat", "export"}, Enabled: true},
			{ID: "bolt", Keys: []string{keyHash("bolt-key"), keyHash("bolt-new")}, Semantics: []string{"chat"}, Enabled: true},
			{ID: "gone", Keys: []string{keyHash("gone-key")}, Semantics: []string{"chat"}},
			{ID: "visitor", Semantics: []string{"chat"}, Enabled: true},
		},
	}
	c.Semantics[1].MaxInFlight = 16
	return c
}

func mustCompile(t testing.TB, c *config.Config) *Policy {
	t.Helper()
	p, err := Compile(c, &Names{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
