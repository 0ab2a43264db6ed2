package gateway

import (
	"strings"
	"testing"
	"time"

	"tidegate/gateway/console"
)

func (w *world) me(key string) deskMe {
	w.t.Helper()
	return told[deskMe](w.t, w.desk(key, "GET /.tidegate/v1/me"))
}

// use is what a caller is told of a semantic, on a route where a rule names one.
func (m *deskMe) use(t *testing.T, semantic, route string) deskUse {
	t.Helper()
	for _, u := range m.Semantics {
		if u.Semantic == semantic && u.Route == route {
			return u
		}
	}
	t.Fatalf("%s on %q is not among %+v", semantic, route, m.Semantics)
	return deskUse{}
}

func TestACallerSeesItsQuotaAndItsUse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		text := "[queue]\noff_peak = [\"22:00-06:00\"]\n" + changed(t, registering, `registration = "auto"`, "registration = \"auto\"\ncaller_rate = \"50/s\"", `rate = "5/s"`, `rate = "5/30s"`)
		w := newWorldIn(t, t.TempDir(), text, mirror)
		w.put("ann", "export", someWords)
		w.put("ann", "video", someWords)
		me := w.me("ann")
		if me.Caller != "ann" || me.Name != "Ann & Co" || me.Plan != "open" || me.CallerRate != "50/1s" || me.OffPeak == nil || me.OffPeak.From != "22:00" || me.OffPeak.To != "06:00" {
			t.Errorf("%+v", me)
		}
		// Before anything was sent all is left.
		if u := me.use(t, "export", ""); u.Remaining != 5 || u.Occupancy != 0 || u.ResetMS != 0 || u.Rate != "5/30s" || u.Level != "batch" || u.MaxWaitMS != 7000 || u.Off {
			t.Errorf("%+v", u)
		}
		if u := me.use(t, "export", "mixed"); u.Rule != "open/mixed/export" || u.Level != "realtime" {
			t.Errorf("%+v", u)
		}
		for range 8 {
			w.do("GET /v1/reports/x", "X-API-Key: ann")
		}
		time.Sleep(time.Second)
		me = w.me("ann")
		if u := me.use(t, "export", ""); u.Remaining != 0 || u.Occupancy != 1 || u.ResetMS < 28_000 || u.ResetMS > 30_000 || u.Admitted != 5 || u.Refused != 3 || u.Flows != 1 {
			t.Errorf("%+v", u)
		}
		if u := me.use(t, "export", "mixed"); u.Admitted != 0 || u.Occupancy != 0 {
			t.Errorf("the other rule has been charged: %+v", u)
		}
		if len(me.Refusals) != 3 {
			t.Fatalf("%+v", me.Refusals)
		}
		r := me.Refusals[0]
		if r.Code != "rate_exceeded" || r.Semantic != "export" || r.Rule != "open/*/export" || r.Limit != 5 || r.Remaining != 0 || r.RequestID == "" || r.RetryAfterMS < 28_000 || r.Time.Location() != time.UTC {
			t.Errorf("%+v", r)
		}
		w.idle()
	})
}

func TestWaitingAndInFlightAreSeenByTheCallerWhoseTheyAre(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), registering, slowly(5*time.Second))
		for range 5 { // of two seats
			go w.do("GET /v1/chat/x", "X-API-Key: ann", "X-Max-Wait: 2s")
		}
		time.Sleep(1500 * time.Millisecond)
		if u := told[deskMe](t, w.desk("ann", "GET /.tidegate/v1/me")); u.use(t, "chat", "").InFlight != 2 || u.use(t, "chat", "").Waiting != 3 {
			t.Errorf("%+v", u.use(t, "chat", ""))
		}
		if u := w.me("bob"); u.use(t, "chat", "").InFlight != 0 || len(u.Refusals) != 0 {
			t.Errorf("bob sees %+v", u)
		}
		time.Sleep(20 * time.Second)
		if own := w.me("ann").Refusals; len(own) != 3 || own[0].Code != "wait_expired" || own[0].WaitedMS != 2000 || own[0].MaxWaitMS != 2000 {
			t.Errorf("%+v", own)
		}
	})
}

// Nobody is shown what is another's or the pool's, whoever was refused how often.
func TestACallerSeesNothingOfOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), registering, mirror)
		w.put("bob", "secret-project", someWords)
		for range 30 {
			w.do("GET /v1/mixed/x", "X-API-Key: bob")
			w.do("GET /v1/mixed/x", "X-API-Key: ann")
		}
		time.Sleep(2 * time.Second)
		for _, path := range []string{"me", "semantics"} {
			a := w.desk("ann", "GET /.tidegate/v1/"+path)
			for _, not := range []string{"bob", "secret", "shared", "vip", "seats", "in_use", "sha256", "config.toml"} {
				if strings.Contains(a.body, not) {
					t.Errorf("%s: ann is told %q: %s", path, not, a.body)
				}
			}
			if a.header.Get("Cache-Control") != "no-store" || a.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s: %v", path, a.header)
			}
		}
		if own := w.me("ann").Refusals; len(own) != deskRefusalsShown || own[0].Time.Before(own[len(own)-1].Time) {
			t.Errorf("%d refusals", len(own))
		}
		if n := len(w.g.lookUpRefusals(console.RefusalsQuery{Caller: "bob", Limit: 100})); n < 20 {
			t.Errorf("only %d refusals of bob are kept", n)
		}
	})
}

func TestSemanticsAreListedWithTheirStatus(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorldIn(t, t.TempDir(), registering, mirror)
		w.put("bob", "export", someWords)
		w.put("bob", "abc", someWords)
		type list struct {
			Registration string         `json:"registration"`
			Semantics    []deskSemantic `json:"semantics"`
		}
		l := told[list](t, w.desk("bob", "GET /.tidegate/v1/semantics"))
		var got []string
		for _, s := range l.Semantics {
			got = append(got, s.Semantic+" "+s.Status+" "+s.Source+" "+s.Level)
		}
		want := "chat active configuration realtime; default active configuration batch; abc waiting registration ; export waiting registration batch"
		if l.Registration != "approve" || strings.Join(got, "; ") != want {
			t.Errorf("%s: %s", l.Registration, strings.Join(got, "; "))
		}
		if u := told[deskMe](t, w.desk("bob", "GET /.tidegate/v1/me")); !u.use(t, "export", "").Off || u.use(t, "export", "").Status != "waiting" {
			t.Errorf("%+v", u)
		}
	})
}
