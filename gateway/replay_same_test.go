package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidegate/gateway/replay"
)

// What the gateway did to a day, and recorded of it, a replay of that record does again: request by request.

// replayed is a platform on which callers wait, are paced, are refused in several ways, and surge.
const replayed = `
[log]
access = "off"
[detector]
min_rate = "1/s"
hold = "3s"
[[levels]]
name = "realtime"
[[levels]]
name = "batch"
[[pools]]
name = "shared"
seats = 4
max_waiting = 44
[[pools]]
name = "vip"
seats = 1
[[semantics]]
name = "chat"
level = "realtime"
rate = "4/s"
max_wait = "3s"
[[semantics]]
name = "export"
level = "batch"
rate = "2/s"
over_rate = "pace"
max_wait = "4s"
[[semantics]]
name = "default"
level = "batch"
rate = "1/s"
over_rate = "reject"
[[plans]]
name = "free"
[[plans]]
name = "tenants"
count_by = "tenant"
caller_rate = "4/s"
[[upstreams]]
name = "api"
targets = [{ url = "http://api" }]
[[routes]]
name = "mixed"
path = "/v1/*"
upstream = "api"
semantics = ["chat", "export"]
[[callers]]
id = "ann"
keys = ["HASH-ann"]
semantics = ["chat", "export"]
[[callers]]
id = "bob"
keys = ["HASH-bob"]
semantics = ["chat"]
[[callers]]
id = "vip"
keys = ["HASH-vip"]
pool = "vip"
semantics = ["chat"]
[[callers]]
id = "shop"
keys = ["HASH-shop"]
plan = "tenants"
semantics = ["chat"]
[[callers]]
id = "off"
keys = ["HASH-off"]
enabled = false
`

// sentRequest is one request of the day.
type sentRequest struct {
	at                       int // ms after the beginning, each its own and none on the grid of the detector
	caller, semantic, tenant string
}

// aDay is some seconds of a platform that is rather too busy, in which bob sends five times as much for a while.
func aDay(r *rand.Rand) (day []sentRequest) {
	const seconds = 60
	taken := map[int]bool{}
	add := func(n, from, to int, caller string, semantics ...string) {
		for range n {
			at := from*1000 + r.IntN((to-from)*1000)
			for taken[at] || at%100 == 0 {
				at++
			}
			taken[at] = true
			q := sentRequest{at: at, caller: caller, semantic: semantics[r.IntN(len(semantics))]}
			if caller == "shop" {
				q.tenant = []string{"t1", "t2"}[r.IntN(2)]
			}
			day = append(day, q)
		}
	}
	add(3*seconds, 0, seconds, "ann", "chat", "export", "unheard-of")
	add(3*seconds, 0, seconds, "bob", "chat")
	add(40*12, 30, 42, "bob", "chat")
	add(60, 15, 25, "ann", "export")
	add(seconds, 0, seconds, "vip", "chat")
	add(2*seconds, 0, seconds, "shop", "chat")
	add(5, 0, seconds, "off", "chat")
	slices.SortFunc(day, func(a, b sentRequest) int { return a.at - b.at })
	return day
}

func TestAReplayOfARecordedDayDecidesAsTheGatewayDid(t *testing.T) {
	const service = 151*time.Millisecond + 300*time.Microsecond // never ends together with an arrival
	dir := filepath.Join(t.TempDir(), "trace")
	text := "[record]\ndir = " + fmt.Sprintf("%q", dir) + "\n" + replayed
	fates := map[string]string{} // by caller and arrival
	surges := 0
	bubble(t, func(t *testing.T) {
		w := newWorld(t, text, slowly(service))
		start := time.Now().Add(time.Second).Truncate(time.Second)
		var mu sync.Mutex
		var all sync.WaitGroup
		for _, q := range aDay(rand.New(rand.NewPCG(1, 1))) {
			time.Sleep(time.Until(start.Add(time.Duration(q.at) * time.Millisecond)))
			lines := []string{"X-API-Key: " + q.caller, "X-Semantic: " + q.semantic}
			if q.tenant != "" {
				lines = append(lines, "X-Tenant-Id: "+q.tenant)
			}
			at := time.Now()
			all.Go(func() {
				a := w.do("GET /v1/x", lines...)
				fate := a.code()
				if a.status == 200 {
					fate = "0ms"
					if waited, ok := strings.CutPrefix(a.header.Get("Server-Timing"), "queue;dur="); ok {
						fate = waited + "ms"
					}
				}
				mu.Lock()
				fates[fmt.Sprintf("%s %d", q.caller, at.UnixMilli())] = fate
				mu.Unlock()
			})
		}
		all.Wait()
		surges = len(w.log.lines("surge"))
	})

	var events bytes.Buffer
	log, err := replay.NewLog(&events, "")
	if err != nil {
		t.Fatal(err)
	}
	e, err := replay.NewEngine(configOf(t, text), replay.Play{Service: map[string]time.Duration{"chat": service, "export": service, "default": service}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	trace, err := replay.Open([]string{dir}, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	if n := replay.Run(trace, []*replay.Engine{e}, func(int64, int64) {}); n != int64(len(fates)) {
		t.Errorf("%d requests are played of %d", n, len(fates))
	}
	if err := log.Flush(); err != nil {
		t.Fatal(err)
	}
	again, kinds := map[string]string{}, map[string]int{}
	for line := range strings.Lines(events.String()) {
		var h struct {
			T            int64   `json:"t_ms"`
			Waited       float64 `json:"waited_ms"`
			Event        string
			Caller, Code string
		}
		if err := json.Unmarshal([]byte(line), &h); err != nil {
			t.Fatal(err)
		}
		// A moment is told in whole milliseconds, rounded down, and arrivals are whole ones.
		key := fmt.Sprintf("%s %.0f", h.Caller, math.Round(float64(h.T)+math.Mod(h.Waited, 1)-h.Waited))
		switch h.Event {
		case "dispatched":
			again[key] = fmt.Sprintf("%gms", h.Waited)
			kinds[fmt.Sprint("waited: ", h.Waited > 0)]++
		case "refused":
			again[key] = h.Code
			kinds[h.Code]++
		default:
			kinds[h.Event]++
		}
	}
	differ := 0
	for _, key := range slices.Sorted(maps.Keys(fates)) {
		if a, b := fates[key], again[key]; !sameFate(a, b) {
			if differ++; differ < 10 {
				t.Errorf("%s: the gateway says %q, the replay %q", key, a, b)
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d differ", differ, len(fates))
	}
	if kinds["surge"] != surges || surges == 0 {
		t.Errorf("%d surges in the replay, %d in the gateway", kinds["surge"], surges)
	}
	for _, kind := range []string{"waited: true", "waited: false", "rate_exceeded", "wait_too_long", "queue_full", "caller_disabled"} {
		if kinds[kind] == 0 {
			t.Errorf("the day is too easy: there is no %s among %v", kind, kinds)
		}
	}
}

// sameFate compares waits as they are written, to a tenth of a millisecond.
func sameFate(a, b string) bool {
	x, err1 := time.ParseDuration(a)
	y, err2 := time.ParseDuration(b)
	if err1 != nil || err2 != nil {
		return a == b
	}
	return max(x-y, y-x) <= 100*time.Microsecond
}
