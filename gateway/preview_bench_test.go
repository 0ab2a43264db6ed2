package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"tidegate/gateway/recent"
)

// busyGateway remembers 15 minutes of 2,000 requests a second, of 200 callers.
func busyGateway(tb testing.TB) (g *Gateway, text string) {
	const callers, perSecond = 200, 2000
	var b strings.Builder
	b.WriteString(benchConfig)
	for i := range callers {
		fmt.Fprintf(&b, "[[callers]]\nid = \"caller-%03d\"\nsemantics = [\"chat\"]\n", i)
	}
	text = hashed(b.String())
	g, err := New(configOf(tb, text), Options{Text: []byte(text), NoDate: true, Log: zap.NewNop()})
	if err != nil {
		tb.Fatal(err)
	}
	now := time.Now()
	for s := range 900 {
		g.recent.Add(now.Add(time.Duration(s)*time.Second), time.Second, func(yield func(recent.Flow, int, time.Duration)) {
			for i := range callers {
				yield(recent.Flow{Caller: fmt.Sprintf("caller-%03d", i), Semantic: "chat"}, perSecond/callers, 20*time.Millisecond)
			}
		})
	}
	return g, text
}

// BenchmarkPreview is a preview of 1.8 million requests, under both configurations: where there are seats for all of them
// but in clumps, and where there are not and a queue is always full.
func BenchmarkPreview(b *testing.B) {
	g, text := busyGateway(b)
	for _, c := range []struct{ name, seats string }{{"room", "seats = 64"}, {"crowded", "seats = 38"}} {
		b.Run(c.name, func(b *testing.B) {
			next := []byte(changed(b, text, "seats = 512", c.seats))
			b.ReportAllocs()
			for b.Loop() {
				v, err := g.previewConfig(next)
				if err != nil || v.Requests != 1_800_000 || len(v.Rows) != mostRows {
					b.Fatalf("%+v, %v", v, err)
				}
			}
		})
	}
}

// BenchmarkRememberArrivals takes down a second of 10,000 flows.
func BenchmarkRememberArrivals(b *testing.B) {
	flows := make([]recent.Flow, 10_000)
	for i := range flows {
		flows[i] = recent.Flow{Caller: fmt.Sprint("caller-", i), Semantic: "chat"}
	}
	var l recent.Log
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		l.Add(now, time.Second, func(yield func(recent.Flow, int, time.Duration)) {
			for i := range flows {
				yield(flows[i], 3, 20*time.Millisecond)
			}
		})
	}
}
