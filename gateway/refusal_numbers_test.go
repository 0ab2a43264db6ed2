package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// problem is a refusal as a client reads it.
type problem struct {
	Type, Title, Detail, Instance, Code, Caller, Semantic, Rule string

	Status                  int
	Retryable               *bool
	Limit, Remaining, Reset *int64
	RetryAfterMS            *int64 `json:"retry_after_ms"`
}

var rateLimitField = regexp.MustCompile(`^"([^"]*)";r=(\d+)(?:;t=(\d+))?$`)

// faultOf finds what is wrong with the numbers that an answer tells its client; "" if they are honest: header and
// body agree, nothing is negative, and nobody is told to come back after no time.
func faultOf(a reply) string {
	left, reset := int64(-1), int64(0)
	if field := a.header.Get("RateLimit"); field != "" {
		m := rateLimitField.FindStringSubmatch(field)
		if m == nil {
			return "RateLimit: " + field
		}
		left, _ = strconv.ParseInt(m[2], 10, 64)
		if m[3] != "" {
			if reset, _ = strconv.ParseInt(m[3], 10, 64); reset < 1 {
				return "a reset of no time: " + field
			}
		}
		if !strings.HasPrefix(a.header.Get("RateLimit-Policy"), `"`+m[1]+`";q=`) {
			return "RateLimit is of another policy than RateLimit-Policy: " + a.header.Get("RateLimit-Policy")
		}
	}
	if a.header.Get("X-Request-Id") == "" {
		return "no X-Request-Id"
	}
	after := a.header.Get("Retry-After")
	if a.header.Get("Content-Type") != "application/problem+json" {
		if after != "" && a.status == 200 {
			return "served, and told to come back"
		}
		return ""
	}
	var p problem
	reader := json.NewDecoder(strings.NewReader(a.body))
	if err := reader.Decode(&p); err != nil {
		return "the body is no JSON: " + err.Error()
	}
	if rest, _ := io.ReadAll(reader.Buffered()); strings.TrimSpace(string(rest)) != "" {
		return "more than one document"
	}
	known := slices.IndexFunc(codeTable[1:], func(c codeEntry) bool { return c.name == p.Code })
	switch {
	case known < 0 || p.Type != problemURN+p.Code || p.Title == "" || p.Detail == "":
		return "code " + p.Code
	case p.Status != a.status || Code(known+1).Status() != a.status:
		return fmt.Sprintf("status %d, the body says %d", a.status, p.Status)
	case p.Instance != a.header.Get("X-Request-Id"):
		return fmt.Sprintf("instance %q, X-Request-Id %q", p.Instance, a.header.Get("X-Request-Id"))
	case p.Retryable == nil || *p.Retryable != (after != "") || *p.Retryable != (p.RetryAfterMS != nil):
		return fmt.Sprintf("retryable or not: Retry-After %q", after)
	case (p.Limit == nil) != (p.Remaining == nil):
		return "limit without remaining"
	case p.Limit != nil && (*p.Limit < 1 || *p.Remaining < 0 || *p.Remaining > *p.Limit):
		return fmt.Sprintf("%d left of %d", *p.Remaining, *p.Limit)
	case left >= 0 && (p.Remaining == nil || *p.Remaining != left):
		return fmt.Sprintf("RateLimit says %d left, and the body something else", left)
	case p.Reset != nil && *p.Reset < 1:
		return "a reset of no time"
	}
	if after == "" {
		return ""
	}
	seconds, err := strconv.ParseInt(after, 10, 64)
	switch {
	case err != nil || seconds < 1 || strconv.FormatInt(seconds, 10) != after:
		return "Retry-After: " + after
	case *p.RetryAfterMS < 1 || (*p.RetryAfterMS+999)/1000 != seconds:
		return fmt.Sprintf("Retry-After: %s, and %d ms", after, *p.RetryAfterMS)
	case reset > seconds:
		return fmt.Sprintf("Retry-After: %s, before the rate has anything in %d s", after, reset)
	case p.Reset != nil && *p.Reset > seconds:
		return fmt.Sprintf("Retry-After: %s, before the reset in %d s", after, *p.Reset)
	}
	return ""
}

// isHonest checks the numbers of one answer.
func (a reply) isHonest(t testing.TB, what string) {
	t.Helper()
	if fault := faultOf(a); fault != "" || a.err != nil {
		t.Errorf("%s: %s (%v)\n%d %v\n%s", what, fault, a.err, a.status, a.header, a.body)
	}
}

// Every code that can be met is met through the whole gateway, with its numbers looked at.
func TestTheNumbersOfEveryRefusalAreHonest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		text := "[server]\nrate_per_ip = \"40/1h\"\nmax_header_bytes = \"16KiB\"\nmax_body_bytes = \"64KiB\"\nbody_timeout = \"1s\"\n" + changed(t, bounded,
			`timeout = "10s"`, `timeout = "2s"`)
		w := newWorldBehind(t, "192.0.2.1", text, func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/v1/chat/slow":
				time.Sleep(time.Second)
			case "/v1/chat/late":
				time.Sleep(time.Minute)
			case "/v1/chat/broken":
				c := ctx.Conn()
				_ = c.Close()
			}
		})
		seen := map[string]bool{}
		meets := func(want string, a reply) {
			t.Helper()
			a.isHonest(t, want)
			if a.code() != want {
				t.Errorf("%d %s, want %s", a.status, a.body, want)
			}
			seen[want] = true
		}
		as := "X-API-Key: ann"
		waiting := make(chan reply, 3)
		send := func(request, key string, more ...string) {
			go func() { waiting <- w.do(request, append([]string{"X-API-Key: " + key}, more...)...) }()
			time.Sleep(10 * time.Millisecond)
		}
		send("GET /v1/chat/slow", "ann") // while nothing is known that a wait could be estimated from
		meets("wait_expired", w.do("GET /v1/chat/x", as, "X-Max-Wait: 50ms"))
		<-waiting
		meets("bad_request", w.do("GET /v1/chat/x", as, "X-Max-Wait: soon"))
		meets("tenant_missing", w.do("GET /v1/chat/x", "X-API-Key: shop"))
		meets("caller_unknown", w.do("GET /v1/chat/x", "X-API-Key: nobody"))
		meets("caller_disabled", w.do("GET /v1/chat/x", "X-API-Key: off"))
		meets("route_unknown", w.do("GET /none", as))
		meets("headers_too_large", w.do("GET /v1/chat/x", as, "X-A: "+strings.Repeat("x", 20<<10)))
		meets("body_too_large", w.do("POST /v1/chat/x", as, "Content-Length: 100000"))
		meets("body_slow", w.do("POST /v1/chat/x", as, "Content-Length: 100"))
		for range 2 {
			w.do("GET /v1/mixed/x", as)
		}
		meets("rate_exceeded", w.do("GET /v1/mixed/x", as))
		meets("upstream_error", w.do("GET /v1/chat/broken", as))
		if a := w.do("POST /v1/chat/broken", as, "", "x"); a.header.Get("Retry-After") != "" {
			t.Errorf("what may have been done is not to be sent again: %v", a.header)
		}
		meets("upstream_timeout", w.do("GET /v1/chat/late", as))

		send("GET /v1/chat/slow", "ann") // holds the seat
		meets("wait_too_long", w.do("GET /v1/chat/x", as, "X-Max-Wait: 0"))
		send("GET /v1/reports/x", "ann")
		meets("queue_full", w.do("GET /v1/reports/x", as))
		send("GET /v1/chat/x", "bob")
		meets("displaced", <-waiting)
		<-waiting
		<-waiting

		send("GET /open/x", "ann") // the upstream is quick: its request has ended
		<-waiting
		sound := w.g.live.Load()
		broken := *sound
		broken.behind = nil
		w.g.live.Store(&broken)
		meets("internal", w.do("GET /v1/chat/x", as))
		w.g.live.Store(sound)

		send("GET /v1/chat/slow", "vip")
		send("GET /v1/chat/slow", "ann")
		slow := changed(t, text, `rules = [ { route = "open", semantic = "chat", max_in_flight = 1, over_in_flight = "reject" }`,
			`rules = [ { route = "chat", semantic = "chat", max_in_flight = 1, over_in_flight = "reject" }`)
		<-waiting
		<-waiting
		w.reload(slow)
		send("GET /v1/chat/slow", "ann")
		meets("too_many_in_flight", w.do("GET /v1/chat/x", as))
		<-waiting

		w.refused.Store(true)
		w.g.live.Load().upstreams["api"].DropIdle()
		meets("no_upstream", w.do("GET /v1/reports/x", as))
		w.refused.Store(false)

		for range 40 {
			w.do("GET /none")
		}
		meets("address_limited", w.do("GET /v1/chat/x", as))
		w.reload(changed(t, slow, `rate_per_ip = "40/1h"`, `rate_per_ip = ""`))

		send("GET /v1/chat/slow", "ann")
		send("GET /v1/reports/x", "ann", "X-Max-Wait: 50s")
		w.stop()
		meets("draining", <-waiting)
		<-waiting

		for code := CodeBadRequest; code < codeEnd; code++ {
			if !seen[code.String()] && code != CodeQuotaExhausted { // no amounts are counted yet
				t.Errorf("%s was not met", code)
			}
		}
		if err := <-w.ended; err != nil {
			t.Error(err)
		}
		w.ended <- nil
	})
}

// Whatever the rate, its burst, its cost and what happens at it, and whenever requests come: what answers say is
// possible, and who comes back when told is not told to come back for the same reason.
func TestTheNumbersOfAnyRateAreHonest(t *testing.T) {
	for seed := range uint64(24) {
		rnd := rand.New(rand.NewPCG(seed, 12))
		pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
		rate := pick("1/1s", "1/250ms", "3/7s", "1/1h", "1000000/1s", "20/60s", "7/1m", "1/1ms", "100/90s")
		rule := fmt.Sprintf("rate = %q\nover_rate = %q", rate, pick("reject", "queue", "pace"))
		if rnd.IntN(2) == 0 {
			rule += fmt.Sprintf("\nburst = %d", 2+rnd.IntN(50))
			if rnd.IntN(2) == 0 {
				rule += "\ncost = 2"
			}
		}
		wait := pick("0s", "10ms", "1s", "30s")
		t.Run(fmt.Sprintf("%d/%s", seed, strings.ReplaceAll(rule, "\n", ", ")+", max_wait = "+wait), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				text := changed(t, basic, "rate = \"100/s\"\nmax_wait = \"2s\"", rule+fmt.Sprintf("\nmax_wait = %q", wait))
				w := newWorld(t, text, slowly(time.Duration(rnd.IntN(200))*time.Millisecond))
				for range 30 {
					time.Sleep(time.Duration(rnd.Int64N(int64(pickDuration(rnd)))))
					for _, a := range w.gather(1+rnd.IntN(6), "GET /v1/chat/x", "X-API-Key: ann") {
						a.isHonest(t, "at any time")
						if a.status >= 500 {
							t.Errorf("%d %s", a.status, a.body)
						}
					}
				}
				a := w.do("GET /v1/chat/x", "X-API-Key: ann")
				if a.code() == "rate_exceeded" {
					time.Sleep(time.Duration(a.member("retry_after_ms").(float64)) * time.Millisecond)
					if again := w.do("GET /v1/chat/x", "X-API-Key: ann"); again.status != 200 {
						t.Errorf("told %s, and then %d %s", a.body, again.status, again.body)
					}
				}
				w.idle()
			})
		})
	}
}

// pickDuration is a scale of time, from one at which requests meet to one at which they are forgotten.
func pickDuration(rnd *rand.Rand) time.Duration {
	return []time.Duration{time.Microsecond, 10 * time.Millisecond, time.Second, 5 * time.Minute}[rnd.IntN(4)]
}
