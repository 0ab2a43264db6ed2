package alert

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestABeginningAndItsEndAreTold(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		began := time.Now()
		for range 3 { // it is true, and is said to be so again and again
			o.Begin(time.Now(), Event{
				Kind: Surge, Subject: "spider-77/export", Text: "Caller spider-77 surges with export.", Facts: map[string]any{"rate": 812.5, "slot": "Mon 09h"},
			})
			o.pass(time.Second)
		}
		o.end(Surge, "spider-77/export")
		o.end(Surge, "spider-77/export")
		o.end(Surge, "nobody/chat")
		all := o.told("surge spider-77/export", "surge spider-77/export over")
		p := all[0].payload
		if p.Type != "tidegate.alert" || !p.Timestamp.Equal(began) || !p.Data.Since.Equal(began) || p.Data.Text != "Caller spider-77 surges with export." ||
			fmt.Sprint(p.Data.Facts) != "map[rate:812.5 slot:Mon 09h]" || p.Data.Gateway != (Source{"gw-1", "v1"}) {
			t.Errorf("%s", all[0].body)
		}
		if p := all[1].payload; !p.Timestamp.Equal(began.Add(3*time.Second)) || !p.Data.Since.Equal(began) || p.Data.ID == all[0].Data.ID {
			t.Errorf("%s", all[1].body)
		}
		h := all[0].header
		if h.Get("Content-Type") != "application/json" || h.Get("User-Agent") != "tidegate/v1" || h.Get("Webhook-Id") != p.Data.ID ||
			h.Get("Webhook-Timestamp") != strconv.FormatInt(began.Unix(), 10) || h.Get("Webhook-Signature") != "" {
			t.Errorf("%v", h)
		}
		webhook, views := o.Recent()
		if !webhook || len(views) != 2 || !views[0].Resolved || views[1].Status != StatusSent || views[1].Attempts != 1 || !views[1].SentAt.Equal(began) || views[1].ID != p.Data.ID {
			t.Errorf("shown %+v", views)
		}
		if len(o.ended) != 2 {
			t.Errorf("ended %+v", o.ended)
		}
	})
}

func TestNobodyIsToldWithoutAWebhookAndItIsShown(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		if err := o.Apply(Settings{}); err != nil {
			t.Fatal(err)
		}
		o.begin(Surge, "a/chat")
		o.end(Surge, "a/chat")
		o.begin(UpstreamDown, "api")
		o.pass(time.Hour)
		o.told()
		webhook, views := o.Recent()
		if webhook || len(views) != 3 || views[0].Status != StatusOff || views[1].Status != StatusOff || !views[1].Resolved {
			t.Errorf("%v, shown %+v", webhook, views)
		}
		if _, err := o.Test(time.Now(), "ops"); err != ErrNoWebhook {
			t.Error(err)
		}
		// With a webhook, what is still true is told.
		if err := o.Apply(o.settings()); err != nil {
			t.Fatal(err)
		}
		o.pass(time.Second)
		o.told("upstream_down api")
	})
}

func TestOnlyTheKindsThatAreWantedAreTold(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		s := o.settings()
		s.Kinds = []string{StateFailed, Starvation}
		if err := o.Apply(s); err != nil {
			t.Fatal(err)
		}
		o.begin(Surge, "a/chat")
		o.begin(StateFailed, "audit")
		o.end(Surge, "a/chat")
		o.told("state_failed audit")
	})
}

func TestWhatComesAndGoesIsNotToldAgainWithinRepeat(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		for range 5 { // comes and goes
			o.begin(UpstreamDown, "api")
			o.pass(10 * time.Second)
			o.end(UpstreamDown, "api")
			o.pass(10 * time.Second)
		}
		o.begin(UpstreamDown, "db") // another one has nothing to do with it
		o.told("upstream_down api", "upstream_down api over", "upstream_down db")
		o.end(UpstreamDown, "db")
		o.begin(UpstreamDown, "api") // and stays
		o.pass(time.Second)
		if v := o.shown(); v.Status != StatusHeld || v.Subject != "api" {
			t.Errorf("shown %+v", v)
		}
		o.pass(8 * time.Minute)
		o.told("upstream_down api", "upstream_down api over", "upstream_down db", "upstream_down db over")
		o.pass(time.Minute)
		all := o.told("upstream_down api", "upstream_down api over", "upstream_down db", "upstream_down db over", "upstream_down api")
		if last := all[4]; last.at.Sub(all[0].at) != 10*time.Minute || last.Data.Since.Sub(all[0].at) != 100*time.Second {
			t.Errorf("told after %v, since %v", last.at.Sub(all[0].at), last.Data.Since.Sub(all[0].at))
		}
		o.end(UpstreamDown, "api")
		o.pass(11 * time.Minute)
		o.begin(UpstreamDown, "api")
		synctest.Wait()
		if all := o.all(); len(all) != 7 {
			t.Errorf("told %d times", len(all))
		}
	})
}

func TestAllTogetherAreBoundedByTheHourAndThatIsTold(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		began := time.Now()
		for i := range 100 {
			o.begin(Surge, fmt.Sprint("caller-", i, "/chat"))
		}
		for i := range 30 {
			o.begin(VIPRefused, fmt.Sprint("vip-", i))
		}
		o.pass(time.Minute)
		all := o.all()
		if len(all) != mostAnHour+1 || all[mostAnHour].Data.Kind != Held && !slices.ContainsFunc(all, func(g got) bool { return g.Data.Kind == Held }) {
			t.Fatalf("told %d times", len(all))
		}
		for i := range 100 { // all but five are over
			if i < 95 {
				o.end(Surge, fmt.Sprint("caller-", i, "/chat"))
			}
		}
		for i := range 30 {
			o.end(VIPRefused, fmt.Sprint("vip-", i))
		}
		o.pass(time.Minute)
		if n := len(o.all()); n != mostAnHour+1+mostAnHour {
			t.Errorf("told %d times: of those that were told, each end is", n)
		}
		o.pass(time.Hour)
		all = o.all()[mostAnHour+1+mostAnHour:]
		if len(all) != 6 {
			t.Fatalf("told %d times more", len(all))
		}
		first := all[0]
		if first.Data.Kind != Held || !first.Data.Resolved || !strings.HasPrefix(first.Data.Text, "70 more alerts were held back") || !strings.HasSuffix(first.Data.Text, ": surge 40, vip_refused 30.") ||
			fmt.Sprint(first.Data.Facts) != "map[surge:40 vip_refused:30]" || first.at.Sub(began) != time.Hour {
			t.Errorf("after %v: %s", first.at.Sub(began), first.body)
		}
		for i, g := range all[1:] {
			if want := fmt.Sprint("caller-", 95+i, "/chat"); g.Data.Subject != want {
				t.Errorf("told of %s, want %s", g.Data.Subject, want)
			}
		}
	})
}

func TestConditionsAreBounded(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		for i := range mostConditions + 500 {
			o.begin(Surge, fmt.Sprint(i))
		}
		o.Alerts.mu.Lock()
		on, held := len(o.desk.on), o.desk.held[Surge]
		o.Alerts.mu.Unlock()
		if on != mostConditions || held != mostConditions+500-mostAnHour {
			t.Errorf("%d are remembered, %d held", on, held)
		}
		if _, views := o.Recent(); len(views) != mostRecent {
			t.Errorf("%d are shown", len(views))
		}
	})
}

func TestATestIsAnsweredWithWhatCameOfIt(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		v, err := o.Test(time.Now(), "ops")
		if err != nil || v.Status != StatusSent || v.Kind != Test || v.Subject != "ops" || v.Attempts != 1 || v.SentAt == nil || o.shown() != v {
			t.Errorf("%+v, %v", v, err)
		}
		if _, err := o.Test(time.Now(), "ops"); err != ErrBusy {
			t.Error(err)
		}
		o.answer = refuses
		time.Sleep(testEvery)
		if v, err := o.Test(time.Now(), "ops"); err != nil || v.Status != StatusFailed || v.Error != "answered 503" || v.SentAt != nil {
			t.Errorf("%+v, %v", v, err)
		}
		o.answer = hangs
		time.Sleep(testEvery)
		began := time.Now()
		go func() {
			time.Sleep(time.Second)
			if _, err := o.Test(time.Now(), "another"); err != ErrBusy {
				t.Error(err)
			}
		}()
		if v, err := o.Test(time.Now(), "ops"); err != nil || v.Error != "no answer within 5s" || time.Since(began) != 5*time.Second {
			t.Errorf("%+v, %v after %v", v, err, time.Since(began))
		}
		o.pass(2 * time.Hour)
		if n := len(o.all()); n != 3 {
			t.Errorf("a test was made %d times", n)
		}
	})
}

func TestPayloadsAreSignedWithTheSecretOfTheFile(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		s := o.settings()
		s.SecretFile = filepath.Join(t.TempDir(), "secret")
		write := func(text string) {
			t.Helper()
			if err := os.WriteFile(s.SecretFile, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		signed := func(secret string) {
			t.Helper()
			o.Begin(time.Now(), Event{Kind: Surge, Subject: fmt.Sprint(len(o.all()))})
			synctest.Wait()
			all := o.all()
			g := all[len(all)-1]
			at, _ := strconv.ParseInt(g.header.Get("Webhook-Timestamp"), 10, 64)
			if got, want := g.header.Get("Webhook-Signature"), sign([]byte(secret), g.Data.ID, at, g.body); got != want || at != time.Now().Unix() {
				t.Errorf("signed %s, want %s", got, want)
			}
		}
		// Without a secret nothing is sent, least of all unsigned.
		if err := o.Apply(s); err == nil || strings.Contains(err.Error(), "T0PS3CRET") {
			t.Error(err)
		}
		o.begin(Surge, "early")
		o.pass(time.Minute)
		o.told()
		if v := o.shown(); v.Status != StatusPending || !strings.Contains(v.Error, "cannot read the secret") {
			t.Errorf("%+v", v)
		}
		if _, err := o.Trouble(); err == nil {
			t.Error("that is no trouble")
		}
		write("first\n")
		o.pass(2 * time.Minute)
		o.told("surge early")
		if err := o.Apply(s); err != nil {
			t.Fatal(err)
		}
		signed("first")
		write("second")
		signed("first") // until it is read again
		if err := o.Apply(s); err != nil {
			t.Fatal(err)
		}
		signed("second")
		write("whsec_c2Vjb25kIQ==")
		if err := o.Apply(s); err != nil {
			t.Fatal(err)
		}
		signed("second!")
		for _, bad := range []string{"", " \n", "whsec_", "whsec_?", strings.Repeat("x", mostSecret+1)} {
			write(bad)
			if err := o.Apply(s); err == nil || len(bad) > 8 && strings.Contains(err.Error(), bad) {
				t.Errorf("%.20q: %v", bad, err)
			}
			signed("second!") // the one before is better than none
		}
	})
}

// The vector is the one that implementations of the scheme are tested with.
func TestTheSignatureIsTheOneOfTheScheme(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), 0o600); err != nil {
		t.Fatal(err)
	}
	secret, err := secretOf(path)
	if err != nil {
		t.Fatal(err)
	}
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got := sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, []byte(`{"test": 2432232314}`)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestWhatJSONHasNoWordForIsLeftOut(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.Begin(time.Now(), Event{Kind: Surge, Subject: strings.Repeat("s", 10_000), Text: strings.Repeat("é", 10_000), Facts: map[string]any{"rate": math.NaN()}})
		synctest.Wait()
		all := o.all()
		if len(all) != 1 || len(all[0].Data.Facts) != 0 || len(all[0].Data.Subject) > mostSubject || len(all[0].Data.Text) > mostText {
			t.Errorf("told %d times", len(all))
		}
	})
}

func TestTheEndSendsWhatWasNotTriedForAtMostTwoSeconds(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer answer
		wait   time.Duration
		sent   int
	}{
		{"it answers", nil, 0, 5},
		{"it hangs", hangs, 2 * time.Second, 1},
		{"it is down", refuses, 0, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			inOffice(t, func(t *testing.T, o *office) {
				o.answer = c.answer
				for i := range 5 {
					o.begin(Surge, fmt.Sprint(i))
				}
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				began := time.Now()
				unsent := o.Close(ctx)
				synctest.Wait()
				if took := time.Since(began); took != c.wait || len(o.all()) != c.sent || c.answer == nil && unsent != 0 || c.answer != nil && unsent != 5 {
					t.Errorf("after %v %d attempts were made, %d are unsent", took, len(o.all()), unsent)
				}
			})
		})
	}
}
