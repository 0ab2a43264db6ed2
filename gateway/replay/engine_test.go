package replay

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The example that the design ends its rules of admission with: 4 seats, 2/s, work that takes 400 ms, five arrivals at once.
func TestFiveArrivalsAtOnceFareAsTheRulesOfAdmissionSay(t *testing.T) {
	for _, c := range []struct {
		over string
		want []string
	}{
		{"queue", []string{"0 dispatched committed", "0 dispatched committed", "0 dispatched excess", "0 dispatched excess", "400 dispatched excess"}},
		{"pace", []string{"0 dispatched committed", "0 dispatched committed", "1000 dispatched committed", "1500 dispatched committed", "2000 dispatched committed"}},
		{"reject", []string{"0 dispatched committed", "0 dispatched committed", "0 refused rate_exceeded", "0 refused rate_exceeded", "0 refused rate_exceeded"}},
	} {
		text := strings.Replace(platform, `rate = "2/s"`, `rate = "2/s"`+"\nover_rate = \""+c.over+`"`, 1)
		s := newPlay(t, text, Play{Service: map[string]time.Duration{"chat": ms(400)}})
		// Known to take 400 ms: some of it has been there, long enough ago for the rate to be whole again.
		s.offer(0, "acme", "chat")
		for range 5 {
			s.offer(100, "acme", "chat")
		}
		var got []string
		for _, h := range s.finished("dispatched", "refused") {
			what := h.Band
			if h.Event == "refused" {
				what = h.Code
			}
			if h.T >= 100_000 {
				got = append(got, fmt.Sprintf("%d %s %s", h.T-100_000, h.Event, what))
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.over, got, c.want)
		}
	}
}

func TestWhatIsOfferedIsPassedWaitsOrIsRefusedAndNothingElse(t *testing.T) {
	text := strings.Replace(platform, `max_wait = "10s"`, `max_wait = "1s"`, 1)
	s := newPlay(t, text, Play{Service: map[string]time.Duration{"chat": ms(100), "default": ms(300)}})
	for i := range 3000 {
		s.offer(float64(i)*0.004, []string{"acme", "vip", "x", "y"}[i%4], []string{"chat", "export", "none"}[i%3])
	}
	s.finished()
	r := s.engine.Report(0)
	var offered int64
	for _, row := range append(r.Rows, r.Total) {
		if row.AtOnce+row.Waited+row.Refused != row.Offered {
			t.Errorf("%s/%s: %d at once, %d waited and %d refused of %d", row.Caller, row.Semantic, row.AtOnce, row.Waited, row.Refused, row.Offered)
		}
		if sumOf(row.Codes) != row.Refused {
			t.Errorf("%s/%s: the codes come to %d of %d", row.Caller, row.Semantic, sumOf(row.Codes), row.Refused)
		}
		if row.P50 > row.P99 || row.P99 > row.Max || row.Max > 60_000 {
			t.Errorf("%s/%s: waits %v %v %v", row.Caller, row.Semantic, row.P50, row.P99, row.Max)
		}
		offered += row.Offered
	}
	if offered != 2*3000 || r.Requests != 3000 {
		t.Errorf("%d in the rows and their total, %d requests", offered, r.Requests)
	}
	if r.Total.Waited == 0 || r.Total.Refused == 0 || r.Total.AtOnce == 0 {
		t.Errorf("the case is too easy: %+v", r.Total)
	}
	for _, p := range s.engine.pools {
		if p.inUse != 0 || p.waiting != 0 {
			t.Errorf("pool %s ends with %d in use and %d waiting", p.name, p.inUse, p.waiting)
		}
		if p.mostInUse > p.seats {
			t.Errorf("pool %s: %d of %d seats", p.name, p.mostInUse, p.seats)
		}
	}
}

func TestRefusalsAreToldByCode(t *testing.T) {
	for _, c := range []struct {
		name, change, with string
		play               func(s *play)
		caller             string
		want               map[string]int64
	}{
		{
			"rate", `rate = "2/s"`, "rate = \"2/s\"\nover_rate = \"reject\"",
			func(s *play) { s.offer(0, "acme", "chat"); s.offer(0, "acme", "chat"); s.offer(0, "acme", "chat") },
			"acme",
			map[string]int64{"rate_exceeded": 1},
		},
		{
			"no wait is allowed", `max_wait = "10s"`, `max_wait = "0s"`,
			func(s *play) {
				for range 9 {
					s.offer(0, "acme", "chat")
				}
			},
			"acme",
			map[string]int64{"wait_too_long": 6}, // two are paid; the others count as long while nothing is known, so one has a seat
		},
		{
			"in flight", `rate = "2/s"`, "rate = \"2/s\"\nmax_in_flight = 1\nover_in_flight = \"reject\"",
			func(s *play) { s.offer(0, "acme", "chat"); s.offer(0, "acme", "chat") },
			"acme",
			map[string]int64{"too_many_in_flight": 1},
		},
		{
			"disabled", "", "",
			func(s *play) { s.offer(0, "off", "chat") },
			"off",
			map[string]int64{"caller_disabled": 1},
		},
		{
			"queue", "seats = 4", "seats = 1\nmax_waiting = 1\nmax_flow_share = 1",
			func(s *play) { s.offer(0, "acme", "chat"); s.offer(0, "acme", "chat"); s.offer(0, "acme", "chat") },
			"acme",
			map[string]int64{"queue_full": 1, "wait_expired": 1},
		},
		{
			"expired", "seats = 4", "seats = 1",
			func(s *play) { s.offer(0, "acme", "chat"); s.offer(0, "acme", "chat") },
			"acme",
			map[string]int64{"wait_expired": 1},
		},
	} {
		s := newPlay(t, strings.Replace(platform, c.change, c.with, 1), Play{Service: map[string]time.Duration{"chat": 30 * time.Second}})
		c.play(s)
		refused := s.finished("refused")
		row := s.row(c.caller, "chat")
		if !reflect.DeepEqual(row.Codes, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, row.Codes, c.want)
		}
		told := map[string]int64{}
		for _, h := range refused {
			told[h.Code]++
		}
		if !reflect.DeepEqual(told, c.want) {
			t.Errorf("%s: the events say %v, want %v", c.name, told, c.want)
		}
	}
}

func TestACallerThatTheConfigLacksIsMade(t *testing.T) {
	s := newPlay(t, platform, Play{Plan: "paid"})
	s.offer(0, "stranger", "chat")
	s.offer(0, "stranger", "export")
	s.offer(0, "stranger", "page")
	s.finished()
	for _, c := range [][3]string{{"chat", "paid/*/chat", "shared"}, {"export", "semantic/export", "shared"}, {"page", "semantic/default", "shared"}} {
		l := s.engine.lane(s.places.origin(originKey{Caller: "stranger", Type: c[0]}))
		if l.rule.ID != c[1] || l.caller.Pool != c[2] {
			t.Errorf("%s: rule %s in pool %s, want %v", c[0], l.rule.ID, l.caller.Pool, c)
		}
	}
	notes := fmt.Sprint(s.engine.Report(0).Notes)
	for _, want := range []string{"plan paid", "pool shared", `"page"`} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes %s do not say %s", notes, want)
		}
	}
	if s := newPlay(t, platform, Play{Plan: "nowhere"}); s.engine.plan != "" {
		t.Error("a plan that the config lacks is taken")
	}
}

// A pool with one caller has no ceilings, whether the config or the trace says who that is.
func TestACallerThatIsMadeCountsInItsPool(t *testing.T) {
	alone := strings.Split(platform, "[[callers]]")[0]
	peak := func(callers ...string) int {
		s := newPlay(t, strings.Replace(alone, `seats = 4`, "seats = 10\nlong_ceiling = 1\nexcess_ceiling = 0.5", 1), Play{Service: map[string]time.Duration{"chat": time.Second, "export": ms(10)}})
		for i := range 4 { // sets the measure of what is quick
			s.offer(float64(i)/10, callers[i%len(callers)], "export")
		}
		s.offer(1, callers[0], "chat")
		for i := range 40 {
			s.offer(20+float64(i)/1000, callers[0], "chat")
		}
		return s.engine.pools[0].mostInUse
	}
	if n := peak("one"); n != 10 {
		t.Errorf("alone, a caller has %d of 10 seats", n)
	}
	if n := peak("one", "two"); n >= 10 {
		t.Errorf("of two, one has all %d seats with unpaid slow work", n)
	}
}

func TestTheRouteOfARecordedRequestHolds(t *testing.T) {
	s := newPlay(t, platform, Play{Plan: "paid"})
	for route, want := range map[string]string{"chat": "paid/chat/export", "reports": "semantic/export", "": "semantic/export", "gone": "semantic/export"} {
		o := s.places.origin(originKey{Caller: "x", Type: "export", Route: route, Full: true})
		s.arrive(&Arrival{Origin: o})
		if l := s.engine.lane(o); l.rule.ID != want {
			t.Errorf("by route %q: rule %s, want %s", route, l.rule.ID, want)
		}
	}
	if notes := fmt.Sprint(s.engine.Report(0).Notes); !strings.Contains(notes, `no route "gone"`) {
		t.Errorf("the notes %s do not say what route is missing", notes)
	}
}

func TestTenantsAreFlowsOfTheirOwnWhereThePlanSaysSo(t *testing.T) {
	s := newPlay(t, strings.Replace(platform, `rate = "2/s"`, "rate = \"2/s\"\nover_rate = \"reject\"", 1), Play{})
	full := s.places.origin(originKey{Caller: "shop", Type: "chat", Route: "chat", Full: true})
	for _, tenant := range []string{"a", "a", "a", "b", "b", ""} {
		s.arrive(&Arrival{Origin: full, Tenant: tenant})
	}
	refused := s.finished("refused")
	if len(refused) != 2 || refused[0].Code != "rate_exceeded" || refused[0].Tenant != "a" || refused[1].Code != "tenant_missing" {
		t.Errorf("refused: %+v", refused)
	}
	s = newPlay(t, platform, Play{})
	s.offer(0, "shop", "chat") // such a trace has no tenants
	s.finished()
	if r := s.row("shop", "chat"); r.AtOnce != 1 {
		t.Errorf("%+v", r)
	}
	if notes := fmt.Sprint(s.engine.Report(0).Notes); !strings.Contains(notes, "one tenant") {
		t.Errorf("the notes %s do not say so", notes)
	}
}

func TestARecordedSeatTimeCountsWhereNoneIsGiven(t *testing.T) {
	for _, c := range []struct {
		service map[string]time.Duration
		seats   []time.Duration // recorded; 0: it was refused
		full    float64         // seconds in which the two seats are taken
	}{
		{nil, []time.Duration{ms(300), ms(500)}, 0.3},
		{map[string]time.Duration{"chat": ms(100)}, []time.Duration{ms(300), ms(500)}, 0.1},
		{nil, []time.Duration{0, 0}, 0.02},
		{nil, []time.Duration{ms(200), 0}, 0.2}, // the mean of those before
	} {
		s := newPlay(t, platform, Play{Service: c.service})
		o := s.places.origin(originKey{Caller: "vip", Type: "chat", Full: true})
		for _, seat := range c.seats {
			s.arrive(&Arrival{Origin: o, Seat: seat})
		}
		s.finished()
		for _, p := range s.engine.Report(0).Pools {
			if p.Name == "vip" && (p.FullSeconds != c.full || p.PeakInUse != 2) {
				t.Errorf("%v recorded, %v given: both seats taken for %v s, want %v", c.seats, c.service, p.FullSeconds, c.full)
			}
		}
	}
}

// What waits keeps the seat time that it was recorded with until it has its seat.
func TestARecordedSeatTimeOutlivesAWait(t *testing.T) {
	s := newPlay(t, strings.Replace(platform, "seats = 2", "seats = 1", 1), Play{})
	o := s.places.origin(originKey{Caller: "vip", Type: "chat", Full: true})
	for _, seat := range []int{100, 700, 50} {
		s.arrive(&Arrival{Origin: o, Seat: ms(seat)})
	}
	var waited []float64
	for _, h := range s.finished("dispatched") {
		waited = append(waited, h.Waited)
	}
	if !reflect.DeepEqual(waited, []float64{0, 100, 800}) || len(s.engine.own) != 0 {
		t.Errorf("waited %v; %d seat times are left", waited, len(s.engine.own))
	}
}

func TestAConfigThatCannotBePlayedIsAnError(t *testing.T) {
	for text, want := range map[string]string{
		strings.Split(strings.Replace(platform, `route = "chat", `, "", 1), "[[routes]]")[0]: "no [[routes]]",
	} {
		if _, err := NewEngine(configFor(t, text), Play{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := NewEngine(configFor(t, platform), Play{Service: map[string]time.Duration{"chat": -1}}); err == nil {
		t.Error("a negative service time is taken")
	}
}

func TestWhatIsObservedIsToldBesideWhatHappens(t *testing.T) {
	s := newPlay(t, "[server]\nmode = \"observe\"\n"+strings.Replace(platform, `max_wait = "10s"`, `max_wait = "1s"`, 1), Play{Service: map[string]time.Duration{"chat": ms(20), "export": ms(20)}})
	for i := range 500 {
		s.offer(float64(i)*0.01, "acme", "chat")
	}
	s.offer(20, "acme", "chat")
	s.finished()
	r := s.row("acme", "chat")
	if r.Refused != 0 || r.AtOnce != 501 {
		t.Errorf("observed work is held back: %+v", r)
	}
	pace := strings.Replace(platform, `max_wait = "10s"`, "max_wait = \"1s\"\nover_rate = \"pace\"", 1)
	s = newPlay(t, "[server]\nmode = \"observe\"\n"+pace, Play{})
	e := newPlay(t, pace, Play{})
	for i := range 500 {
		s.offer(float64(i)*0.01, "acme", "chat")
		e.offer(float64(i)*0.01, "acme", "chat")
	}
	s.offer(20, "acme", "chat")
	e.offer(20, "acme", "chat")
	s.finished()
	e.finished()
	would, does := s.row("acme", "chat"), e.row("acme", "chat")
	if sumOf(would.WouldRefuse) == 0 || !reflect.DeepEqual(would.WouldRefuse, does.Codes) || would.WouldWait != does.Waited {
		t.Errorf("observed: would wait %d, would refuse %v; enforced: %d, %v", would.WouldWait, would.WouldRefuse, does.Waited, does.Codes)
	}
}

func TestASeatTimeOfCenturiesHoldsItsSeat(t *testing.T) {
	for name, d := range map[string]Play{"recorded": {}, "told": {Service: map[string]time.Duration{"chat": math.MaxInt64}}} {
		s := newPlay(t, platform, d)
		for range 3 {
			s.arrive(&Arrival{At: 1_764_450_000e9, Origin: s.places.origin(originKey{Caller: "vip", Type: "chat"}), Seat: math.MaxInt64})
		}
		s.offer(1_764_450_001, "acme", "chat") // and it is a second later
		if got := s.engine.pool("vip").inUse; got != 2 {
			t.Errorf("%s: of 2 seats %d are in use", name, got)
		}
		s.finished()
	}
}
