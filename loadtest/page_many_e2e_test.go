//go:build e2e

package main

import (
	"context"
	"net"
	"testing"
	"time"

	"tidegate/loadtest/browser"
	"tidegate/loadtest/openloop"
	"tidegate/loadtest/schedule"
	"tidegate/loadtest/stage"
	"tidegate/loadtest/upstream"
)

// Ten thousand callers, all of them with traffic: the page draws on, while it is told anew each second and while somebody
// scrolls through all of them.
func TestThePageIsSmoothWithTenThousandFlows(t *testing.T) {
	w := &watched{o: watchOptions{flows: 10_000, rate: 1000, seed: 1}}
	const length = 60 * time.Second
	config := w.config()
	s, err := stage.Open(t.Context(), t.TempDir(), gatewayProgram(t), config, upstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	i := &incident{t: t, stage: s}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	var arrivals []schedule.Arrival
	requests := make([]openloop.Request, w.o.flows)
	for who, c := range config.Callers {
		requests[who] = openloop.NewRequest("POST", s.Address, "/v1/chat/x", map[string]string{"X-API-Key": c.Key, "X-Semantic": "chat"}, "{}", chatTimeout)
		if arrivals, err = schedule.Make(arrivals, who, schedule.Poisson, 1, schedule.Steady(length, float64(w.o.rate)/float64(w.o.flows))); err != nil {
			t.Fatal(err)
		}
	}
	schedule.Sort(arrivals)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		var dialer net.Dialer
		_, _, _ = openloop.Run(ctx, openloop.Plan{ // what becomes of the requests is for other tests
			Arrivals: arrivals, Requests: requests, MaxConns: maxConns, Grace: time.Second,
			Dial: func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", s.Address) },
		})
	}()
	t.Cleanup(func() { cancel(); <-done })

	tab, err := openBrowser(t).Tab()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tab.Close)
	v := &view{Tab: tab, t: t, i: i}
	v.must(tab.Go(i.url("/")))
	v.until(`/10.?000/.test(document.body.innerText)`, 20*time.Second)
	time.Sleep(8 * time.Second) // every flow has had something by then
	still, gap, err := v.Frames(6 * time.Second)
	v.must(err)
	t.Logf("%.0f frames/s while nothing is touched, at most %v between two", still, gap.Round(time.Millisecond))
	v.eval(`(() => {
		const list = `+browser.By("callers-grid")+`.querySelector(".scroller")
		list.scrollIntoView({block: "center", behavior: "instant"})
		let step = 0
		window.scrolling = setInterval(() => { list.scrollTop = (step++ * 240) % (list.scrollHeight - list.clientHeight) }, 16)
	})()`, nil)
	moving, gap, err := v.Frames(6 * time.Second)
	v.must(err)
	v.eval(`clearInterval(window.scrolling)`, nil)
	t.Logf("%.0f frames/s while scrolling through the callers, at most %v between two", moving, gap.Round(time.Millisecond))
	v.picture("ten-thousand-flows")
	for what, perSecond := range map[string]float64{"untouched": still, "scrolling": moving} {
		if perSecond < 30 {
			t.Errorf("%s: %.1f frames/s, want at least 30", what, perSecond)
		}
	}
	v.clean()
}
