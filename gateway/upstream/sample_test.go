package upstream

import (
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"tidegate/gateway/config"
)

// sampleRig is a gateway before a sample upstream.
func sampleRig(t *testing.T, o SampleOptions) (*rig, *Sample) {
	t.Helper()
	s := NewSample(o)
	r := newRig(t, Options{Sample: s}, map[string]targetFunc{"a": nil})
	c := upstreamConfig()
	c.Targets = []config.Target{{URL: SampleURL, Weight: 1}}
	if err := r.up.Update(c, r.up.fleet.Load().opts); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return r, s
}

func TestTheSampleAnswers(t *testing.T) {
	for _, tc := range []struct {
		path  string
		after time.Duration
		least int
		begin string
	}{
		{"/v1/chat/completions", 20 * time.Millisecond, 50, `{"object":"chat.completion"`},
		{"/v1/reports/today", 200 * time.Millisecond, 64 << 10, `{"object":"report"`},
		{"/other", 20 * time.Millisecond, 20, `{"object":"sample","path":"/other"}`},
	} {
		bubble(t, func(t *testing.T) {
			r, s := sampleRig(t, SampleOptions{})
			start := time.Now()
			resp, body, err := r.get("GET " + tc.path + " HTTP/1.1\r\nHost: h\r\n\r\n")
			if err != nil || resp.StatusCode != 200 || len(body) < tc.least || !strings.HasPrefix(body, tc.begin) {
				t.Errorf("%s: %d %.80q, %v", tc.path, resp.StatusCode, body, err)
			}
			if took := time.Since(start); took != tc.after {
				t.Errorf("%s took %v, want %v", tc.path, took, tc.after)
			}
			s.Close()
			r.end()
			r.told.only(t)
		})
	}
}

func TestTheSampleStreams(t *testing.T) {
	for _, request := range []string{
		"POST /v1/chat HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\nContent-Length: 2\r\n\r\n{}",
		"GET /v1/chat?stream=1 HTTP/1.1\r\nHost: h\r\n\r\n",
	} {
		bubble(t, func(t *testing.T) {
			r, s := sampleRig(t, SampleOptions{})
			start := time.Now()
			c := r.client()
			c.send(request)
			resp := c.answer(t, "GET")
			buf := make([]byte, 1000)
			n, _ := resp.Body.Read(buf)
			if at := time.Since(start); at > 20*time.Millisecond || !strings.HasPrefix(string(buf[:n]), "data: ") {
				t.Errorf("the first event %q came after %v", buf[:n], at)
			}
			rest, err := io.ReadAll(resp.Body)
			if err != nil || strings.Count(string(rest), "data: ") != sampleEvents || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
				t.Errorf("the rest is %q, %v", rest, err)
			}
			if took := time.Since(start); took != sampleEvents*20*time.Millisecond {
				t.Errorf("took %v", took)
			}
			if s.InFlight() != 0 {
				t.Error("the sample still counts the stream")
			}
			s.Close()
			r.end()
		})
	}
}

func TestTheSampleSlowsDownAboveItsCapacity(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, s := sampleRig(t, SampleOptions{Capacity: 10})
		took := func(n int) time.Duration {
			start := time.Now()
			var wg sync.WaitGroup
			for range n {
				c := r.client()
				wg.Add(1)
				go func() {
					defer wg.Done()
					c.send(simpleGet)
					c.answer(t, "GET")
				}()
			}
			wg.Wait()
			return time.Since(start)
		}
		if d := took(10); d != 20*time.Millisecond {
			t.Errorf("at capacity: %v", d)
		}
		if d := took(40); d < 60*time.Millisecond || d > 90*time.Millisecond {
			t.Errorf("at four times the capacity: %v, want about four times as long", d)
		}
		s.Close()
		r.end()
	})
}

func TestAnUpstreamMakesASampleWhenItNeedsOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, Options{}, map[string]targetFunc{"a": nil})
		c := upstreamConfig()
		c.Targets = []config.Target{{URL: SampleURL}}
		if err := r.up.Update(c, r.up.fleet.Load().opts); err != nil {
			t.Fatal(err)
		}
		if resp, _, err := r.get(simpleGet); err != nil || resp.StatusCode != 200 {
			t.Errorf("got %v, %v", resp, err)
		}
		r.end()
	})
}
