package replay

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// compared plays one trace through two configs.
func compared(t *testing.T, before, after string, offer func(s *play)) *Diff {
	t.Helper()
	var engines [2]*Engine
	for i, text := range []string{before, after} {
		s := newPlay(t, text, Play{Service: map[string]time.Duration{"chat": ms(100)}})
		s.engine.file = []string{"old.toml", "new.toml"}[i]
		offer(s)
		s.finished()
		engines[i] = s.engine
	}
	return Compare(engines[0], engines[1], 0)
}

// shown is the text of a diff, its blanks made one.
func shown(t *testing.T, d *Diff) string {
	t.Helper()
	var b bytes.Buffer
	if err := d.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

// five requests a second of acme, two of vip.
func aMinute(s *play) {
	for i := range 60 {
		for range 5 {
			s.offer(float64(i), "acme", "chat")
		}
		s.offer(float64(i), "vip", "chat")
		s.offer(float64(i)+0.5, "vip", "chat")
	}
}

func TestThatNothingChangesIsSaidPlainly(t *testing.T) {
	d := compared(t, platform, platform, aMinute)
	if len(d.Changes) != 0 || d.Unchanged != 2 || len(d.Pools) != 0 || d.Total.Size != 0 {
		t.Errorf("%+v", d)
	}
	if text := shown(t, d); !strings.Contains(text, "old.toml -> new.toml: 420 requests in") || !strings.Contains(text, "nothing changes: every caller and semantic (2) fares as before") {
		t.Error(text)
	}
}

func TestWhoIsRefusedByTheOtherConfigIsToldWithNumbersAndReasons(t *testing.T) {
	after := strings.Replace(platform, `rate = "2/s"`, "rate = \"2/s\"\nover_rate = \"reject\"", 1)
	d := compared(t, platform, after, aMinute)
	if len(d.Changes) != 1 || d.Unchanged != 1 {
		t.Fatalf("%+v", d)
	}
	c := d.Changes[0]
	if c.Caller != "acme" || c.Before.Refused >= c.After.Refused || c.After.Codes["rate_exceeded"] != c.After.Refused || c.After.AtOnce+c.After.Refused != 300 {
		t.Errorf("%+v -> %+v", c.Before, c.After)
	}
	if want := (c.After.Refused - c.Before.Refused); c.Size < want {
		t.Errorf("the size is %d, and %d more are refused", c.Size, want)
	}
	text := shown(t, d)
	for _, want := range []string{"acme chat 300", "rate_exceeded +", "nothing changes for 1 other", "total 420"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestTheLargestChangeComesFirst(t *testing.T) {
	after := strings.Replace(platform, `rate = "2/s"`, "rate = \"2/s\"\nover_rate = \"reject\"", 1)
	d := compared(t, platform, after, func(s *play) {
		for i, caller := range []string{"a", "b", "b", "c", "c", "c", "d"} {
			for range 2 + i {
				s.offer(float64(i)*10, caller, "chat")
			}
		}
	})
	for i := range d.Changes[1:] {
		if d.Changes[i].Size < d.Changes[i+1].Size {
			t.Errorf("%s with %d stands before %s with %d", d.Changes[i].Caller, d.Changes[i].Size, d.Changes[i+1].Caller, d.Changes[i+1].Size)
		}
	}
	if len(d.Changes) < 3 || d.Changes[0].Caller != "c" {
		t.Errorf("%+v", d.Changes)
	}
	engines := [2]*Engine{}
	for i, text := range []string{platform, after} {
		s := newPlay(t, text, Play{})
		for _, caller := range []string{"a", "b", "c"} {
			for range 9 {
				s.offer(0, caller, "chat")
			}
		}
		s.finished()
		engines[i] = s.engine
	}
	if short := Compare(engines[0], engines[1], 1); len(short.Changes) != 1 || short.Others == nil || short.Others.Changes != 2 || short.Others.Size == 0 {
		t.Errorf("one line of three: %+v", short)
	}
}

// A semantic, a caller, a pool or a plan may be there in one of the two only.
func TestWhatOneConfigLacksIsToldFromBothSides(t *testing.T) {
	lacks := strings.NewReplacer(
		"[[semantics]]\nname = \"chat\"\nlevel = \"realtime\"\nrate = \"2/s\"\nmax_wait = \"10s\"\n", "",
		`{ semantic = "chat", rate = "200/s" }, `, "",
		`semantics = ["chat", "export"]`, `semantics = ["export"]`, `semantics = ["chat"]`, "",
		"[[pools]]\nname = \"vip\"\nseats = 2\n", "", `pool = "vip"`, "",
	).Replace(platform)
	for _, c := range []struct{ before, after, text string }{
		{platform, lacks, "vip (gone)"}, {lacks, platform, "vip (new)"},
	} {
		d := compared(t, c.before, c.after, aMinute)
		seen := map[string]bool{}
		for _, x := range d.Changes {
			key := x.Caller + "/" + x.Semantic
			seen[key] = true
			if (x.Before == nil) == (x.After == nil) {
				t.Errorf("%s has %+v -> %+v", key, x.Before, x.After)
			}
		}
		for _, want := range []string{"acme/chat", "acme/default", "vip/chat", "vip/default"} {
			if !seen[want] {
				t.Errorf("nothing is told of %s: %v", want, seen)
			}
		}
		if text := shown(t, d); !strings.Contains(text, c.text) || !strings.Contains(text, "0 -> 300 (+300)") || !strings.Contains(text, "300 -> 0 (-300)") {
			t.Errorf("%q is not in\n%s", c.text, text)
		}
	}
}

func TestAChangeOfWaitsOrSurgesAloneIsAChange(t *testing.T) {
	same := Row{Caller: "a", Offered: 10, AtOnce: 10}
	for name, edit := range map[string]func(r *Row){
		"p99": func(r *Row) { r.P99 = 3 }, "surges": func(r *Row) { r.Surges = 1 }, "would refuse": func(r *Row) { r.WouldRefuse = map[string]int64{"queue_full": 1} },
	} {
		other := same
		edit(&other)
		if c := change(&same, &other); c.same() || c.Size != 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
	fewer := Row{Caller: "a", Offered: 10, AtOnce: 5, Waited: 1, Codes: map[string]int64{"queue_full": 4}}
	if c := change(&same, &fewer); c.same() || c.Size != 5 {
		t.Errorf("five of ten fare otherwise: %+v", c)
	}
	if c := change(nil, &same); c.same() || c.Size != 10 {
		t.Errorf("ten are new: %+v", c)
	}
	if c := change(&same, &same); !c.same() {
		t.Error("the same is a change")
	}
}
