package registration

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"
)

func TestWhatARegistrationIsWorthFollowsFromPlanAndConfiguration(t *testing.T) {
	w := open(t, "")
	// A plan that says auto lets it act at once, one that says approve when an owner has said so.
	w.ask(t0, "ann", "chat")
	w.stands("ann", "chat", Active)
	w.ask(t0, "bob", "chat")
	w.stands("bob", "chat", Waiting)
	w.decide(t0, "bob", "chat", true)
	w.stands("bob", "chat", Active)
	w.ask(t0, "ann", "export")
	w.stands("ann", "export", Active)
	w.stands("ann", "chat", Active)

	// What the configuration does not have waits for it; under approve for an owner, too.
	w.ask(t0, "ann", "newer")
	w.ask(t0, "bob", "newer")
	yes := true
	if _, err := w.Decide(t0, "owner", "", "bob", "newer", &yes); why(err) != SemanticUnknown {
		t.Errorf("approved what the configuration does not have: %v", err)
	}
	w.stands("ann", "newer", Waiting)
	w.has["newer"] = true
	w.Apply(w.terms)
	w.stands("ann", "newer", Active)
	w.stands("bob", "newer", Waiting)

	// And is as it was when the configuration has it again.
	delete(w.has, "chat")
	w.Apply(w.terms)
	w.stands("ann", "chat", Waiting)
	w.stands("bob", "chat", Waiting)
	w.has["chat"] = true
	w.Apply(w.terms)
	w.stands("bob", "chat", Active)

	// A plan that takes none lets none act, and keeps all.
	w.plans["ann"], w.plans["bob"] = PlanOff, PlanOff
	w.Apply(w.terms)
	w.stands("ann", "chat", Off)
	w.stands("bob", "chat", Off)
	w.plans["ann"], w.plans["bob"] = PlanApprove, PlanAuto
	w.Apply(w.terms)
	w.stands("ann", "chat", Waiting) // nobody has approved it
	w.stands("bob", "newer", Active)
	delete(w.plans, "bob")
	w.Apply(w.terms)
	w.stands("bob", "chat", Off) // is no caller any more
}

func TestAnOwnersRefusalIsAboveThePlan(t *testing.T) {
	w := open(t, "")
	w.ask(t0, "ann", "chat")
	w.decide(t0.Add(time.Hour), "ann", "chat", false)
	w.stands("ann", "chat", Denied)

	// Neither asking nor taking back gets round it within a day.
	_, _, err := w.Ask(t0.Add(25*time.Hour-time.Millisecond), "ann", "chat", words)
	if why(err) != RefusedLately || !err.(*Failure).Until.Equal(t0.Add(25*time.Hour)) {
		t.Errorf("asked again too early: %v", err)
	}
	if _, _, err := w.TakeBack("ann", "chat"); why(err) != RefusedLately {
		t.Errorf("took a refusal back: %v", err)
	}
	// Then it waits for an owner, though the plan says auto; and taking that back leaves the refusal.
	w.ask(t0.Add(25*time.Hour), "ann", "chat")
	w.stands("ann", "chat", Waiting)
	if n := w.WaitForOwner(); n != 1 {
		t.Errorf("%d wait for an owner, want 1", n)
	}
	if v, left, err := w.TakeBack("ann", "chat"); err != nil || !left || v.Status != Denied {
		t.Errorf("%v %v %v, want it refused as before", v.Status, left, err)
	}
	w.stands("ann", "chat", Denied)
	w.ask(t0.Add(26*time.Hour), "ann", "chat")
	w.decide(t0.Add(27*time.Hour), "ann", "chat", true)
	w.stands("ann", "chat", Active)

	// What is forgotten is as if it had never been.
	w.decide(t0.Add(28*time.Hour), "ann", "chat", false)
	if _, err := w.Decide(t0, "owner", "", "ann", "chat", nil); err != nil {
		t.Fatal(err)
	}
	if _, ok := w.Get("ann", "chat"); ok || w.Has(index("ann"), index("chat")) {
		t.Error("it is forgotten, and there all the same")
	}
	w.ask(t0.Add(29*time.Hour), "ann", "chat")
	w.stands("ann", "chat", Active)
}

func TestAClockThatIsSetBackDoesNotUndoARefusal(t *testing.T) {
	w := open(t, "")
	w.ask(t0, "ann", "chat")
	w.decide(t0.Add(-8*time.Hour), "ann", "chat", false)
	w.stands("ann", "chat", Denied)
}

func TestWhatCannotBeRegistered(t *testing.T) {
	w := open(t, "")
	for _, tc := range []struct {
		caller, semantic string
		want             Why
	}{
		{"ann", Reserved, IsReserved},
		{"ann", "", NoName},
		{"ann", "Chat", NoName},
		{"ann", "a/b", NoName},
		{"off", "chat", PlanIsOff},
		{"nobody", "chat", PlanIsOff},
	} {
		if _, _, err := w.Ask(t0, tc.caller, tc.semantic, words); why(err) != tc.want {
			t.Errorf("%s/%s: %v", tc.caller, tc.semantic, err)
		}
	}
	if _, _, err := w.TakeBack("ann", "chat"); why(err) != IsUnknown {
		t.Error(err)
	}
	if _, err := w.Decide(t0, "owner", "", "ann", "chat", nil); why(err) != IsUnknown {
		t.Error(err)
	}
	if len(w.All()) != 0 {
		t.Error("something was kept")
	}
}

func TestWhatTheConfigurationGivesNeedsNothing(t *testing.T) {
	w := open(t, "")
	v, made, err := w.Ask(t0, "ann", "given", words)
	if err != nil || made || v.Status != Active || v.Registration != nil {
		t.Errorf("%+v %v %v", v, made, err)
	}
	if _, _, err := w.TakeBack("ann", "given"); why(err) != IsGiven {
		t.Error(err)
	}
}

func TestOtherWordsAreNoOtherRegistration(t *testing.T) {
	w := open(t, "")
	w.ask(t0, "bob", "chat")
	w.decide(t0, "bob", "chat", true)
	before := w.changes
	if _, made, _ := w.Ask(t0.Add(time.Hour), "bob", "chat", words); made || w.changes != before {
		t.Error("the same words again changed something")
	}
	v, made, err := w.Ask(t0.Add(time.Hour), "bob", "chat", Words{Description: "Other."})
	if err != nil || made || v.Status != Active || v.Description != "Other." || !v.Asked.Equal(t0) {
		t.Errorf("%+v %v %v", v.Registration, made, err)
	}
}

func TestRegistrationsAreBounded(t *testing.T) {
	w := open(t, "")
	for i := range MaxPerCaller {
		w.ask(t0, "ann", fmt.Sprintf("s%d", i))
	}
	if _, _, err := w.Ask(t0, "ann", "chat", words); why(err) != CallerIsFull {
		t.Errorf("one more than a caller may have: %v", err)
	}
	if _, _, err := w.Ask(t0, "ann", "s1", Words{Description: "Other."}); err != nil {
		t.Errorf("other words of one that is there: %v", err)
	}
	if _, _, err := w.TakeBack("ann", "s1"); err != nil {
		t.Error(err)
	}
	w.ask(t0, "ann", "chat")
	for i := 0; w.all < MaxAll; i++ {
		caller := fmt.Sprintf("c%d", i/MaxPerCaller)
		w.plans[caller] = PlanAuto
		w.ask(t0, caller, fmt.Sprintf("s%d", i%MaxPerCaller))
	}
	if _, _, err := w.Ask(t0, "bob", "chat", words); why(err) != AllIsFull {
		t.Errorf("one more than there may be: %v", err)
	}
}

func TestThoseThatWaitForAnOwnerComeFirst(t *testing.T) {
	w := open(t, "")
	w.ask(t0, "ann", "chat")                   // acts
	w.ask(t0.Add(time.Minute), "ann", "newer") // waits for the configuration
	w.ask(t0.Add(2*time.Minute), "bob", "export")
	w.ask(t0.Add(time.Minute), "bob", "chat")
	var got []string
	for _, v := range w.All() {
		got = append(got, v.Caller+"/"+v.Semantic)
	}
	if want := []string{"bob/chat", "bob/export", "ann/newer", "ann/chat"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if n := w.WaitForOwner(); n != 2 {
		t.Errorf("%d wait for an owner, want 2", n)
	}
	got = nil
	for _, v := range w.Of("bob") {
		got = append(got, v.Semantic)
	}
	if want := []string{"chat", "export"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAskingOnARequestsWayAllocatesNothing(t *testing.T) {
	w := open(t, "")
	w.ask(t0, "ann", "chat")
	if n := testing.AllocsPerRun(100, func() {
		_ = w.Has(index("ann"), index("chat")) && w.Has(index("bob"), index("chat"))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestRequestsAskWhileEverythingChanges(t *testing.T) {
	w := open(t, t.TempDir())
	w.ask(t0, "ann", "chat")
	w.decide(t0, "ann", "chat", true)
	stop := make(chan struct{})
	var asking, changing sync.WaitGroup
	asking.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if !w.Has(index("ann"), index("chat")) {
				t.Error("what acts was not seen")
				return
			}
		}
	})
	for i := range 4 {
		changing.Go(func() {
			for n := range 50 {
				semantic := fmt.Sprintf("x%d-%d", i, n%8)
				_, _, _ = w.Ask(t0, "ann", semantic, words)
				w.Keep(time.Second)
				_, _, _ = w.TakeBack("ann", semantic)
				w.Apply(w.terms)
				w.All()
			}
		})
	}
	changing.Wait()
	close(stop)
	asking.Wait()
}

// Whatever is done, what requests are told and how many wait is what the statuses say, and a restart changes nothing.
func FuzzAnyOrderOfWishesAndDecisions(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x10\x20\x31\x42\x53\x64"))
	f.Add([]byte("\x00\x00\x08\x60\x18\x0a\x70\x13\x28\x39\x60\x60\x00"))
	f.Fuzz(func(t *testing.T, steps []byte) {
		if len(steps) > 100 {
			steps = steps[:100]
		}
		w := open(t, t.TempDir())
		callers, semantics := []string{"ann", "bob"}, []string{"chat", "newer"}
		now := t0
		for i, b := range steps {
			c, s := callers[b>>6&1], semantics[b>>5&1]
			now = now.Add(time.Duration(b&7) * 4 * time.Hour)
			yes, no := true, false
			switch b >> 2 & 7 {
			case 0, 1:
				_, _, _ = w.Ask(now, c, s, Words{Description: fmt.Sprint(i)})
			case 2:
				_, _, _ = w.TakeBack(c, s)
			case 3:
				_, _ = w.Decide(now, "owner", "", c, s, &yes)
			case 4:
				_, _ = w.Decide(now, "owner", "", c, s, &no)
			case 5:
				_, _ = w.Decide(now, "owner", "", c, s, nil)
			case 6:
				w.plans[c] = []string{PlanOff, PlanApprove, PlanAuto, ""}[b&3]
				w.Apply(w.terms)
			case 7:
				w.has[s] = b&1 == 1
				w.given[c+"/"+s] = b&3 == 3
				w.Apply(w.terms)
			}
			all := w.All()
			waiting := 0
			acts := map[pair]bool{}
			for _, v := range all {
				if v.WaitsForOwner() {
					waiting++
				}
				if v.Status == Active {
					acts[pair{v.Terms.Caller, v.Terms.Semantic}] = true
				}
			}
			for _, c := range callers {
				for _, s := range semantics {
					if w.Has(index(c), index(s)) != acts[pair{index(c), index(s)}] {
						t.Fatalf("step %d: %s/%s: requests are told %v", i, c, s, !acts[pair{index(c), index(s)}])
					}
				}
			}
			if n := w.WaitForOwner(); n != waiting || w.all != len(all) {
				t.Fatalf("step %d: %d wait and %d are there, want %d and %d", i, n, w.all, waiting, len(all))
			}
		}
		if w.changes > 0 && !w.Keep(time.Second) {
			t.Fatal("not kept")
		}
		again, odd := Open(Options{Dir: dirOf(w), Config: w.terms})
		if len(odd) > 0 || !reflect.DeepEqual(again.All(), w.All()) {
			t.Fatalf("after a restart: %v, want %v (%v)", again.All(), w.All(), odd)
		}
	})
}
