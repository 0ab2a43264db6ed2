package gateway

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/config"
	"tidegate/gateway/console"
)

// dispatches notes when whose requests reached the upstream.
type dispatches struct {
	mu sync.Mutex
	at map[string][]time.Time // by caller
}

func (d *dispatches) serve(ctx *fasthttp.RequestCtx) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at == nil {
		d.at = map[string][]time.Time{}
	}
	who := string(ctx.Request.Header.Peek("X-Tidegate-Caller"))
	d.at[who] = append(d.at[who], time.Now())
	ctx.SetBodyString("done")
}

// between counts a caller's from one moment to another, by seconds since start.
func (d *dispatches) between(caller string, start time.Time, from, to float64) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, at := range d.at[caller] {
		if s := at.Sub(start).Seconds(); s >= from && s < to {
			n++
		}
	}
	return n
}

// A rate that an operator lowers holds within a second, and so does one that is given back: for work that waits already
// too, whether or not anything comes after it.
func TestALoweredRateHoldsForWhatWaits(t *testing.T) {
	paced := changed(t, basic, "rate = \"100/s\"\nmax_wait = \"2s\"", "rate = \"20/s\"\nover_rate = \"pace\"\nmax_wait = \"10m\"")
	bucket := changed(t, paced, `rate = "20/s"`+"\nover_rate", `rate = "20/s"`+"\nburst = 40\nover_rate")
	for _, tc := range []struct {
		what, text, name, role string
		comes                  bool // work comes on and on
	}{
		{"one caller's flow, nothing comes any more", paced, "flows.ann/chat.rate", "operator", false},
		{"one caller's flow, more comes", paced, "flows.ann/chat.rate", "operator", true},
		{"one caller's flow under a bucket", bucket, "flows.ann/chat.rate", "operator", false},
		{"the rule", paced, "rules.semantic/chat.rate", "operator", false},
		{"the rule, more comes", paced, "rules.semantic/chat.rate", "owner", true},
	} {
		t.Run(tc.what, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var d dispatches
				w := newWorldIn(t, t.TempDir(), tc.text, d.serve)
				start := time.Now()
				until := func(s float64) {
					time.Sleep(time.Until(start.Add(time.Duration(s * float64(time.Second)))))
					synctest.Wait()
				}
				var answers sync.WaitGroup
				for range 400 {
					answers.Go(func() { w.do("GET /v1/chat/x", "X-API-Key: ann") })
					answers.Go(func() { w.do("GET /v1/chat/x", "X-API-Key: bob") })
				}
				if tc.comes {
					answers.Go(func() { w.pace(&answers, 10, 20*time.Second, "GET /v1/chat/x", "X-API-Key: ann") })
				}
				by := console.Change{Actor: "otto", Role: tc.role, From: "127.0.0.1"}
				until(2.02)
				if _, err := (control{w.g}).SetOverride(by, config.Override{Name: tc.name, Value: "2/s"}); err != nil {
					t.Fatal(err)
				}
				until(12.02)
				if _, err := (control{w.g}).DropOverride(by, tc.name); err != nil {
					t.Fatal(err)
				}
				answers.Wait()
				count := func(caller string, from, to float64, low, high int) {
					if n := d.between(caller, start, from, to); n < low || n > high {
						t.Errorf("%d of %s from %v to %v s, want %d to %d", n, caller, from, to, low, high)
					}
				}
				count("ann", 0, 2, 35, 80)
				count("ann", 2.02, 3.02, 0, 3) // held at once, not only within the second
				count("ann", 3.02, 12.02, 16, 19)
				count("ann", 13.02, 17.02, 76, 84)
				if tc.name != "rules.semantic/chat.rate" {
					count("bob", 3.02, 12.02, 174, 186)
				}
			})
		})
	}
}
