package gateway

import (
	"encoding/json"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"tidegate/detector"
	"tidegate/gateway/console"
)

// The detector at work beside the requests' way, in virtual time.

// roomy is a platform of one pool: seats for 80 requests a second of 50 ms.
const roomy = `
[log]
access = "off"
[server]
trusted_proxies = ["10.0.0.1"]
[identify]
anonymous = "visitors"
[detector]
hold = "5s"
[[levels]]
name = "realtime"
[[pools]]
name = "shared"
seats = 4
[[semantics]]
name = "chat"
level = "realtime"
rate = "20/s"
max_wait = "2s"
[[semantics]]
name = "export"
level = "realtime"
rate = "20/s"
[[semantics]]
name = "default"
level = "realtime"
rate = "2/s"
[[plans]]
name = "plain"
[[upstreams]]
name = "api"
targets = [{ url = "http://api" }]
[[routes]]
name = "open"
path = "/open/*"
upstream = "api"
semantics = ["chat"]
public = true
[[routes]]
name = "reports"
path = "/reports/*"
upstream = "api"
semantics = ["export"]
[[callers]]
id = "ann"
keys = ["HASH-ann"]
semantics = ["chat", "export"]
[[callers]]
id = "bob"
keys = ["HASH-bob"]
semantics = ["chat"]
[[callers]]
id = "visitors"
semantics = ["chat"]
`

// pace sends requests at an even rate and returns when the last was sent; their answers are waited for
// at the end of the bubble.
func (w *world) pace(answers *sync.WaitGroup, perSecond int, d time.Duration, request string, lines ...string) {
	every := time.Second / time.Duration(perSecond)
	for range int(d / every) {
		answers.Go(func() { w.do(request, lines...) })
		time.Sleep(every)
	}
}

// said is the surge events of the log, decoded.
func (w *world) said(event string) (found []map[string]any) {
	w.t.Helper()
	for _, line := range w.log.lines(event) {
		m := map[string]any{}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			w.t.Fatal(err)
		}
		found = append(found, m)
	}
	return found
}

// saidNumber is one of the only line.
func saidNumber(lines []map[string]any, field string) float64 {
	if len(lines) != 1 {
		return math.NaN()
	}
	n, _ := lines[0][field].(float64)
	return n
}

func TestABurstIsSaidAndAlsoItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldBehind(t, "10.0.0.1", roomy, slowly(50*time.Millisecond))
		var answers sync.WaitGroup
		answers.Go(func() { w.pace(&answers, 15, 60*time.Second, "GET /open/x", "X-API-Key: bob") })
		answers.Go(func() { w.pace(&answers, 15, 60*time.Second, "GET /reports/x", "X-API-Key: ann") })
		w.pace(&answers, 15, 20*time.Second, "GET /open/x", "X-API-Key: ann")
		if f := w.flow("ann", "chat", ""); f.State != console.StateCalm || f.Rate < 13 || f.Rate > 17 || f.SurgeSince != nil {
			t.Errorf("before: %+v", f)
		}
		if n := len(w.said("surge")); n != 0 || w.metric("tidegate_surge_active") != 0 {
			t.Fatalf("%d surges before there is one", n)
		}

		jump := time.Now()
		answers.Go(func() { w.pace(&answers, 400, 4*time.Second, "GET /open/x", "X-API-Key: ann") })
		time.Sleep(time.Second)
		surges := w.said("surge")
		if len(surges) != 1 {
			t.Fatalf("%d surges within a second of the jump, want 1:\n%s", len(surges), w.log)
		}
		line := surges[0]
		if line["caller"] != "ann" || line["semantic"] != "chat" || line["level"] != "info" {
			t.Errorf("%v", line)
		}
		if rate, expected := line["rate"].(float64), line["expected"].(float64); rate < 30 || rate > 420 || expected < 12 || expected > 20 {
			t.Errorf("rate %v where %v was expected", rate, expected)
		}
		ratio, score, needed := line["ratio"].(float64), line["score"].(float64), line["needed"].(float64)
		if ratio < 1.5 || score < needed || needed < 5 || line["season"] != detector.SlotAt(jump).String() || line["seasonal"] != false || line["learning"] != true {
			t.Errorf("why: %v", line)
		}
		if since := time.UnixMicro(int64(line["since"].(float64) * 1e6)); since.Before(jump.Add(-time.Second)) || since.After(jump.Add(time.Second)) {
			t.Errorf("since %v, jump at %v", line["since"], jump)
		}
		if waiting := line["waiting"].(float64); waiting < 1 || waiting > 400 {
			t.Errorf("%v wait", waiting)
		}
		if n := w.metric(`tidegate_surges_total{caller="ann",semantic="chat"}`); n != 1 {
			t.Errorf("%v surges counted", n)
		}
		if n := w.metric("tidegate_surge_active"); n != 1 {
			t.Errorf("%v surges are on", n)
		}
		time.Sleep(time.Second)
		s := w.snapshot()
		if len(s.Surges) != 1 || s.Surges[0].Caller != "ann" || s.Surges[0].Semantic != "chat" || s.Surges[0].End != nil ||
			s.Surges[0].Peak < 300 || s.Surges[0].Peak > 420 || s.Surges[0].Baseline < 12 || s.Surges[0].Baseline > 20 ||
			s.Surges[0].Start.Before(jump.Add(-time.Second)) || s.Surges[0].Start.After(jump.Add(time.Second)) {
			t.Errorf("%+v, jump at %v", s.Surges, jump)
		}
		if v := s.Surges[0]; v.Observed != line["rate"] || v.Baseline != line["expected"] || v.Ratio != ratio || v.Score != score || v.Needed != needed || v.SeasonSlot != line["season"] || !v.SeasonLearning || v.Seasonal {
			t.Errorf("the snapshot says %+v, the log %v", v, line)
		}
		if f := w.flow("ann", "chat", ""); f.Expected < 12 || f.Expected > 20 || f.Ratio < 10 || f.Needed < 5 || f.SeasonSlot != line["season"] || !f.SeasonLearning {
			t.Errorf("the flow: %+v", f)
		}
		if f := w.flow("ann", "chat", ""); f.State != console.StateSurge || f.SurgeSince == nil || !f.SurgeSince.Equal(s.Surges[0].Start) {
			t.Errorf("during: %+v", f)
		}
		if p := w.flowList(console.FlowsQuery{State: console.StateSurge, Limit: 10}); p.Total != 1 || p.Flows[0].Caller != "ann" || p.Flows[0].Semantic != "chat" {
			t.Errorf("the list of flows that surge: %+v", p)
		}
		for _, other := range []console.FlowView{w.flow("ann", "export", ""), w.flow("bob", "chat", "")} {
			if other.State != console.StateCalm || other.SurgeSince != nil {
				t.Errorf("another flow: %+v", other)
			}
		}
		if p := s.Pools[0]; p.Surge == 0 || p.Excess != 0 {
			t.Errorf("what is unpaid of it holds seats as surge: %+v", p)
		}

		time.Sleep(2 * time.Second)
		w.pace(&answers, 15, 20*time.Second, "GET /open/x", "X-API-Key: ann")
		calm := w.said("calm")
		if peak, lasted := saidNumber(calm, "peak"), saidNumber(calm, "lasted_s"); peak < 300 || peak > 420 || lasted < 4 || lasted > 30 {
			t.Errorf("peak %v, lasted %v s, of 400/s for four seconds and the hold", peak, lasted)
		}
		if len(calm) == 1 && (calm[0]["since"] != line["since"] || calm[0]["ratio"].(float64) > 1.5) {
			t.Errorf("%v", calm)
		}
		if len(calm) != 1 || calm[0]["caller"] != "ann" || calm[0]["semantic"] != "chat" || calm[0]["rate"].(float64) > 20 {
			t.Errorf("%v", calm)
		}
		if n := w.metric("tidegate_surge_active"); n != 0 {
			t.Errorf("%v surges are on", n)
		}
		if n := w.metric(`tidegate_surges_total{caller="ann",semantic="chat"}`); n != 1 {
			t.Errorf("%v surges counted", n)
		}
		if s := w.snapshot(); len(s.Surges) != 1 || s.Surges[0].End == nil || !s.Surges[0].End.After(s.Surges[0].Start) {
			t.Errorf("%+v", s.Surges)
		}
		if f := w.flow("ann", "chat", ""); f.State != console.StateCalm || f.SurgeSince != nil {
			t.Errorf("after: %+v", f)
		}
		answers.Wait()
		w.idle()
	})
}

func TestSteadyAndSwellingFlowsNeverSurge(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldBehind(t, "10.0.0.1", roomy, slowly(time.Millisecond))
		var answers sync.WaitGroup
		answers.Go(func() { w.pace(&answers, 30, 100*time.Second, "GET /open/x", "X-API-Key: bob") }) // half over its rate, all along
		for rate := 12; rate <= 36; rate++ {                                                          // the morning
			w.pace(&answers, rate, 4*time.Second, "GET /open/x", "X-API-Key: ann")
		}
		answers.Wait()
		if strings.Contains(w.log.String(), `"surge"`) || len(w.snapshot().Surges) != 0 {
			t.Errorf("%s", w.log)
		}
	})
}

func TestADetectorThatIsSwitchedOffEndsItsSurges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldBehind(t, "10.0.0.1", roomy, slowly(time.Millisecond))
		var answers sync.WaitGroup
		w.pace(&answers, 15, 10*time.Second, "GET /open/x", "X-API-Key: ann")
		w.pace(&answers, 200, time.Second, "GET /open/x", "X-API-Key: ann")
		if n := w.metric("tidegate_surge_active"); n != 1 {
			t.Fatalf("%v surges are on", n)
		}
		w.reload(changed(t, roomy, "[detector]\n", "[detector]\nenabled = false\n"))
		w.pace(&answers, 200, 10*time.Second, "GET /open/x", "X-API-Key: ann")
		if n := w.metric("tidegate_surge_active"); n != 0 || len(w.said("calm")) != 1 || len(w.said("surge")) != 1 {
			t.Errorf("%v surges are on\n%s", n, w.log)
		}
		answers.Wait()
	})
}

func TestAddressesOfAnonymousCallersAreFlowsOfTheirOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldBehind(t, "10.0.0.1", changed(t, roomy, `rate = "20/s"`, "rate = \"3/s\"\nover_rate = \"reject\""), mirror)
		from := func(address string) reply { return w.do("GET /open/x", "X-Forwarded-For: "+address) }
		for i := range 3 {
			for _, address := range []string{"192.0.2.1", "192.0.2.2", "2001:db8::1"} {
				if a := from(address); a.status != 200 || a.left() != 2-i {
					t.Errorf("%s: %d, %s", address, a.status, a.header.Get("RateLimit"))
				}
			}
		}
		for _, address := range []string{"192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::ffff"} { // the last two are of one /64
			if a := from(address); a.code() != "rate_exceeded" || a.member("caller") != "visitors" {
				t.Errorf("%s: %d %s", address, a.status, a.body)
			}
		}
		for _, address := range []string{"192.0.2.3", "2001:db8:0:1::1"} {
			if a := from(address); a.status != 200 {
				t.Errorf("%s: %d %s", address, a.status, a.body)
			}
		}
		// A word of the client's own, left of what the proxy saw, changes nothing.
		if a := from("192.0.2.77, 192.0.2.1"); a.code() != "rate_exceeded" {
			t.Errorf("an invented address: %d", a.status)
		}
		if f := w.flow("visitors", "chat", "192.0.2.1"); f.Admitted != 3 || f.Refused != 2 {
			t.Errorf("%+v", f)
		}
		if n := w.snapshot().FlowsTotal; n != 5 {
			t.Errorf("%d flows, want 5", n)
		}
		// The address is no tenant: the upstream is not told it as one.
		if a := from("192.0.2.9"); strings.Contains(a.body, "Tidegate-Tenant") {
			t.Errorf("%s", a.body)
		}
	})
}

func TestAnAddressIsLimitedBeforeAnyKeyIsLookedAt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldBehind(t, "10.0.0.1", changed(t, roomy, "[server]\n", "[server]\nrate_per_ip = \"5/s\"\n"), mirror)
		guess := func(address, key string) reply {
			return w.do("GET /open/x", "X-API-Key: "+key, "X-Forwarded-For: "+address)
		}
		for range 5 {
			if a := guess("192.0.2.1", "wrong"); a.status != 401 {
				t.Fatalf("%d", a.status)
			}
		}
		a := guess("192.0.2.1", "ann")
		if a.status != 429 || a.code() != "address_limited" || a.member("retryable") != true || a.member("caller") != nil || a.header.Get("Retry-After") != "1" {
			t.Errorf("%d %s", a.status, a.body)
		}
		if ms := a.member("retry_after_ms").(float64); ms < 200 || ms > 240 {
			t.Errorf("retry_after_ms %v: a fifth of a second frees one, and the spread adds at most a fifth", ms)
		}
		if a := guess("192.0.2.2", "ann"); a.status != 200 {
			t.Errorf("another address: %d", a.status)
		}
		time.Sleep(240 * time.Millisecond)
		if a := guess("192.0.2.1", "ann"); a.status != 200 {
			t.Errorf("later: %d %s", a.status, a.body)
		}
		if n := w.metric(`tidegate_refusals_total{code="address_limited",semantic=""}`); n != 1 {
			t.Errorf("%v counted", n)
		}
	})
}

func TestQuietHoursAreToldToKnownCallersThatHaveToWait(t *testing.T) {
	bubble(t, func(t *testing.T) { // it is midnight, UTC
		text := changed(t, roomy, "[log]\n", "[time]\nzone = \"UTC\"\n[queue]\noff_peak = [\"12:00-14:00\", \"01:00-06:00\"]\n[log]\n", `rate = "20/s"`, "rate = \"1/1h\"\nover_rate = \"reject\"")
		w := newWorldBehind(t, "10.0.0.1", text, mirror)
		ann := func() reply { return w.do("GET /open/x", "X-API-Key: ann") }
		ann()
		hours := func(a reply) string {
			o, ok := a.member("off_peak").(map[string]any)
			if !ok {
				return ""
			}
			return o["from"].(string) + "-" + o["to"].(string)
		}
		if a := ann(); a.status != 429 || hours(a) != "01:00-06:00" {
			t.Errorf("%d %s", a.status, a.body)
		}
		visitor := func() reply { return w.do("GET /open/x", "X-Forwarded-For: 192.0.2.1") }
		visitor()
		if a := visitor(); a.status != 429 || hours(a) != "" {
			t.Errorf("a visitor: %d %s", a.status, a.body)
		}
		for _, request := range []string{"GET /nowhere", "GET /../x"} {
			if a := w.do(request, "X-API-Key: ann"); a.status == 429 || hours(a) != "" {
				t.Errorf("%s: %d %s", request, a.status, a.body)
			}
		}
		time.Sleep(5 * time.Hour) // within those hours
		ann()
		if a := ann(); hours(a) != "01:00-06:00" {
			t.Errorf("%d %s", a.status, a.body)
		}
		time.Sleep(3 * time.Hour)
		ann()
		if a := ann(); hours(a) != "12:00-14:00" {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}
