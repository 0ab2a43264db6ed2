package console

import (
	"strings"
	"testing"
	"time"

	"tidegate/gateway/config"
)

// observing is the incident of busy while nothing is held back.
func observing() *Snapshot {
	s := busy()
	s.Mode = "observe"
	for i := range s.Flows {
		s.Flows[i].Refused, s.Flows[i].Observed = 0, true
	}
	s.Flows[0].WouldWait, s.Flows[0].WouldRefuse = 3112, 5230
	s.Refusals[0].Observed, s.Refusals[2].Observed = true, true
	s.Observed = &ObservedView{
		Rules: []string{"*"}, Passed: 190_310, Waited: 3115, Refused: 5231, Gone: 7,
		ByCode: map[string]uint64{"wait_too_long": 5100, "wait_expired": 131},
		Pools:  []PoolView{{Name: "shared", Seats: 64, InUse: 47, Waiting: 388}},
		Levels: []LevelView{{Pool: "shared", Level: "batch", Waiting: 387}},
	}
	all, most := 1.0, .99954
	s.Promise = PromiseView{Availability: &most, Availability1m: &all, Availability5m: &most, Availability60m: &all}
	return s
}

func TestThePageSaysThatNothingIsHeldBack(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	const banner = "Observe mode: nothing is held back"
	d.snapshot = observing()
	page := string(body(t, d, "/"))
	for _, want := range []string{
		banner, "All rules are observed: 198663 requests",
		"<b>190310</b> passed at once", "<b>3115</b> had to wait", "<b>5231</b> refused", "<b>7</b> hung up",
		"<code>wait_too_long</code> 5100",
		`data-label="In use if enforced">47<`, `data-label="Waiting if enforced">388<`, // the pool
		`data-label="In use if enforced">0<`,    // the VIP's, of which nothing is known
		`data-label="Waiting if enforced">387<`, // the level
		`data-label="Waits if enforced">3112<`, `data-label="Refused if enforced">5230<`,
		"observed, let through",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(page, "observed, let through"); n != 2 {
		t.Errorf("%d refusals are said not to be real, want 2", n)
	}

	// One rule observes, the others are enforced: no banner, and the rule has its name.
	d = newDesk("127.0.0.1:8081")
	d.snapshot = observing()
	d.snapshot.Mode = "enforce"
	d.snapshot.Observed.Rules = []string{"paid/reports/export", "semantic/chat"}
	d.snapshot.Flows[1].Observed = false
	page = string(body(t, d, "/"))
	if strings.Contains(page, banner) || !strings.Contains(page, "Observed: paid/reports/export, semantic/chat: 198663 requests") {
		t.Error("a part that observes is not told from the whole")
	}
	if !strings.Contains(page, `data-label="Waits if enforced">–<`) {
		t.Error("a flow that is enforced has would-be counts")
	}

	d = newDesk("127.0.0.1:8081")
	d.snapshot = busy()
	if page := string(body(t, d, "/")); strings.Contains(page, banner) || strings.Contains(page, "enforced") {
		t.Error("a gateway that enforces speaks of observing")
	}
}

func TestThePageShowsTheOverrides(t *testing.T) {
	d := newDesk("127.0.0.1:8081")
	d.snapshot = busy()
	if strings.Contains(string(body(t, d, "/")), "Overrides</h2>") {
		t.Error("there are none to show")
	}
	end := t0.Add(time.Hour).In(time.FixedZone("", 8*3600))
	d.control.overrides = []OverrideView{
		{Override: config.Override{Name: "rules.paid/*/export.rate", Value: "5/s", Actor: "ann", Reason: "promo script <1>", Made: t0, Until: &end}},
		{Override: config.Override{Name: "callers.gone.enabled", Value: "false", Made: t0}, Aside: "there is no caller gone"},
	}
	page := string(body(t, d, "/"))
	for _, want := range []string{
		"rules.paid/*/export.rate", "<code>5/s</code>", "promo script &lt;1&gt;", ">ann<", "2026-11-02 09:30:00", "2026-11-02 10:30:00",
		"callers.gone.enabled", "when taken back", "does not act: there is no caller gone",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if d.control.overrides[0].Until.Location() == time.UTC {
		t.Error("what the control gave was changed")
	}
}

func TestAvailabilityIsNeverRoundedUp(t *testing.T) {
	for _, c := range []struct {
		share float64
		want  string
	}{{1, "100 %"}, {.99999999999, "99.99 %"}, {.9999, "99.99 %"}, {.99995, "99.99 %"}, {.9995, "99.95 %"}, {.5, "50 %"}, {0, "0 %"}, {.29, "29 %"}} {
		if got := formatAvailability(c.share); got != c.want {
			t.Errorf("%v = %q, want %q", c.share, got, c.want)
		}
	}
	d := newDesk("127.0.0.1:8081")
	d.snapshot = observing()
	page := string(body(t, d, "/"))
	for _, want := range []string{
		"<li><b>100 %</b> available over 1 min</li>", `<li class="warn"><b>99.95 %</b> over 5 min</li>`,
		"<li><b>100 %</b> over 60 min</li>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	// A source that knows one span only shows that one; one that knows none shows nothing.
	one := .9
	d = newDesk("127.0.0.1:8081")
	d.snapshot = busy()
	d.snapshot.Promise.Availability = &one
	if page := string(body(t, d, "/")); strings.Count(page, "available over") != 1 || !strings.Contains(page, "90 %</b> available over 5 min") {
		t.Error("the one span that is known is not shown alone")
	}
	d = newDesk("127.0.0.1:8081")
	d.snapshot = &Snapshot{}
	if strings.Contains(string(body(t, d, "/")), "available over") {
		t.Error("nothing was asked for, and yet it is said how much of it was served")
	}
}
