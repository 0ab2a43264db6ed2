package gateway

import (
	"runtime"
	"testing"
	"time"
)

// A file that is sent again and again, as by a tool that rewrites it or a signal that is sent by the minute, is read,
// said to be the same, and leaves nothing behind. Reading takes most of the time, so most rounds begin behind it.
func TestTheSameFileTenThousandTimesChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		text := changed(t, basic, `rate = "100/s"`, `rate = "1000/1h"`)
		w := newWorld(t, text, mirror)
		data, read := []byte(hashed(text)), configOf(t, text)
		inForce := w.g.live.Load()
		used, loads := 0, 1
		for _, tc := range []struct {
			name   string
			reload func()
			rounds int
		}{
			{"from its bytes", func() { w.g.take(data, nil) }, 500},
			{"once it is read", func() { w.reloadParsed(read) }, 10_000},
		} {
			if raceEnabled {
				tc.rounds /= 5
			}
			measure := func(rounds int) (goroutines int, objects uint64) {
				for i := range rounds {
					tc.reload()
					loads++
					if i%50 != 0 {
						continue
					}
					used++
					if a := w.do("GET /v1/chat/x", "X-API-Key: ann"); a.status != 200 || a.left() != 1000-used {
						t.Fatalf("%d %s: %d were used", a.status, a.header.Get("RateLimit"), used)
					}
					w.log.mu.Lock()
					w.log.b.Reset() // what it says does not count as what stays
					w.log.mu.Unlock()
				}
				time.Sleep(2 * time.Minute)
				runtime.GC()
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return runtime.NumGoroutine(), m.HeapObjects
			}
			g0, o0 := measure(tc.rounds / 10)
			g1, o1 := measure(tc.rounds)
			if g1 > g0 || o1 > o0+uint64(tc.rounds)*9/10 {
				t.Errorf("%s: %d goroutines and %d objects, after %d reloads %d and %d", tc.name, g0, o0, tc.rounds, g1, o1)
			}
		}
		if w.g.live.Load() != inForce || w.g.live.Load().version != 1 {
			t.Errorf("version %d, another than before", w.g.live.Load().version)
		}
		if n := w.g.telemetry.reloadsOK.Get(); n != uint64(loads) {
			t.Errorf("%d loads counted, want %d", n, loads)
		}
		if s := w.snapshot().Config; s.Error != "" || s.Version != 1 {
			t.Errorf("%+v", s)
		}
	})
}
