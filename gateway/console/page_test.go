package console

import (
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"tidegate/gateway/config"
)

func TestThePageShowsWhatTheSnapshotHas(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	d.snapshot = busy()
	d.snapshot.Config.Error = "config.toml:7:3: pools.seats = -1: must be at least 1"
	d.snapshot.Promise.RefusedWithinRate = 2
	page := string(body(t, d, "/"))
	for _, want := range []string{
		"<title>(1) tidegate</title>", "v0.1.0", "2 h 3 min",
		`<meter min="0" max="64" value="51"`, "51 of 64", // pools
		"3.8 s", "112", // levels
		"spider-77", "801", "20/s", "28 %", "tenant t-1", "on chat", "since 09:30:03", // flows
		"still on", "2026-11-02 08:30:15", "804", // surges
		"wait_too_long", "21.5 s", "1 min 0 s", "caller_unknown", "7f3c-000090", "paid/reports/export", // refusals
		"config.toml:7:3: pools.seats = -1: must be at least 1", // config
		`<li class="bad"><b>2</b> refused within their rate`,
		`The busiest 3 of 23`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "No traffic yet") {
		t.Error("a busy gateway is told what to do first")
	}
}

func TestAnIdlePageSaysWhatToDoFirst(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	d.snapshot = &Snapshot{Version: "v1", Pools: []PoolView{{Name: "shared", Seats: 64}}}
	page := string(body(t, d, "/"))
	for _, want := range []string{"No traffic yet", "http://127.0.0.1:8080/v1/chat/hello", "tidegate key", "0 of 64", "No caller has sent anything of late."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "needs attention") {
		t.Error("the page speaks of a config error")
	}
}

func TestThePageRefreshesItselfUnlessPaused(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	const refresh = `http-equiv="refresh" content="2"`
	if !strings.Contains(string(body(t, d, "/")), refresh) {
		t.Error("the page does not refresh itself")
	}
	if strings.Contains(string(body(t, d, "/?pause")), refresh) {
		t.Error("the paused page refreshes itself")
	}
}

// What the policy forbids would be silently without effect, so none of it may be there.
func TestThePageKeepsToItsPolicy(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	d.snapshot = observing()
	const attack = `</td><script>alert(1)</script><img src=x onerror="alert(1)">`
	d.snapshot.Flows[0].Caller = attack
	d.snapshot.Refusals[0].RequestID = attack
	d.snapshot.Config.Error = attack
	d.snapshot.Observed.Rules = []string{attack}
	d.snapshot.Observed.ByCode[attack] = 1
	d.control.overrides = []OverrideView{{Override: config.Override{Name: attack, Value: attack, Actor: attack, Reason: attack}, Aside: attack}}
	page := string(body(t, d, "/"))
	for _, forbidden := range []string{"<script", "<style", " style=", "<img", "http://", "https://", "<form", "<iframe"} {
		if strings.Contains(page, forbidden) {
			t.Errorf("the page has %s", forbidden)
		}
	}
	// Quoted, the attack's words may be there as text; as an attribute they must not.
	if regexp.MustCompile(`<[^>]*\son\w+=`).MatchString(page) {
		t.Error("the page has an event handler")
	}
	if style := string(body(t, d, "/style.css")); strings.Contains(style, "url(") || strings.Contains(style, "@import") {
		t.Error("the style loads something")
	}
}

// On a narrow screen the head of a table is hidden, and every value needs its name beside it.
func TestEveryCellHasItsName(t *testing.T) {
	for _, s := range []*Snapshot{busy(), observing()} {
		everyCellHasItsName(t, s)
	}
}

func everyCellHasItsName(t *testing.T, s *Snapshot) {
	t.Helper()
	d := newDesk("127.0.0.1:8081")
	d.snapshot = s
	d.control.overrides = []OverrideView{{}}
	page := string(body(t, d, "/"))
	tables := regexp.MustCompile(`(?s)<table>.*?</table>`).FindAllString(page, -1)
	if len(tables) != 6 {
		t.Fatalf("%d tables", len(tables))
	}
	for _, table := range tables {
		var heads []string
		for _, m := range regexp.MustCompile(`<th scope="col"[^>]*>([^<]*)</th>`).FindAllStringSubmatch(table, -1) {
			heads = append(heads, m[1])
		}
		for _, row := range regexp.MustCompile(`<tr[^>]*><th scope="row">.*?</tr>`).FindAllString(table, -1) {
			names := []string{heads[0]}
			for _, m := range regexp.MustCompile(`<td[^>]* data-label="([^"]*)"`).FindAllStringSubmatch(row, -1) {
				names = append(names, m[1])
			}
			if strings.Join(names, "|") != strings.Join(heads, "|") || strings.Count(row, "<td") != len(heads)-1 {
				t.Errorf("cells %q under heads %q", names, heads)
			}
		}
	}
}

func TestFiguresAreShort(t *testing.T) {
	for _, c := range []struct {
		span time.Duration
		want string
	}{
		{0, "0 ms"},
		{180 * time.Millisecond, "180 ms"},
		{999999 * time.Microsecond, "999 ms"},
		{time.Second, "1 s"},
		{2550 * time.Millisecond, "2.5 s"},
		{59999 * time.Millisecond, "59.9 s"},
		{200 * time.Second, "3 min 20 s"},
		{59*time.Minute + 59*time.Second, "59 min 59 s"},
		{25 * time.Hour, "1 d 1 h"},
	} {
		if got := formatSpan(c.span); got != c.want {
			t.Errorf("formatSpan(%v) = %q, want %q", c.span, got, c.want)
		}
	}
	for _, c := range []struct {
		rate float64
		want string
	}{{0, "0"}, {.05, "0.1"}, {3, "3"}, {3.14, "3.1"}, {99.94, "99.9"}, {112.4, "112"}, {1e6, "1000000"}} {
		if got := formatRate(c.rate); got != c.want {
			t.Errorf("formatRate(%v) = %q, want %q", c.rate, got, c.want)
		}
	}
}

// JSON has no word for NaN: that is a fault of ours, and must not look like an empty answer.
func TestAFigureThatIsNoneIsReported(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	d.snapshot = busy()
	d.snapshot.Flows[0].Occupancy = math.NaN()
	if got := code(t, d.ask(request{path: "/api/v1/snapshot"})); got != "500 internal" {
		t.Errorf("snapshot: %s", got)
	}
	if d.logged.FilterMessage("console_failed").Len() != 1 {
		t.Error("nothing was logged")
	}
}
