package gateway

import "testing"

func sharesOf(a *availability) (of [3]float64) {
	for i, s := range a.share() {
		of[i] = -1
		if s != nil {
			of[i] = *s
		}
	}
	return of
}

func TestAvailabilityIsTheShareServedOverEachSpan(t *testing.T) {
	var a availability
	seconds := func(n int, outcomes ...outcome) {
		for range n {
			for _, o := range outcomes {
				a.settled(o)
			}
			a.tick()
		}
	}
	want := func(minute, five, hour float64) {
		t.Helper()
		if got := sharesOf(&a); got != [3]float64{minute, five, hour} {
			t.Errorf("%v, want %v %v %v", got, minute, five, hour)
		}
	}
	want(-1, -1, -1) // nothing was asked for
	seconds(1, outcomeServed)
	want(1, 1, 1)
	seconds(59, outcomeRefused)
	want(1./60, 1./60, 1./60)
	seconds(1, outcomeUpstreamError) // the one that was served is a minute old now
	want(0, 1./61, 1./61)
	seconds(60)
	want(-1, 1./61, 1./61) // nobody asked for a minute
	seconds(179)
	want(-1, 1./61, 1./61)
	seconds(1)
	want(-1, 0, 1./61)
	seconds(3299)
	want(-1, -1, 1./61)
	seconds(1) // the one that was served is an hour old
	want(-1, -1, 0)
	seconds(60)
	want(-1, -1, -1)
}

func TestWhatACallerEndsHimselfIsNoUnavailability(t *testing.T) {
	var a availability
	for _, o := range []outcome{outcomeServed, outcomeGone, outcomeBodyError} {
		a.settled(o)
	}
	a.tick()
	if got := sharesOf(&a); got != [3]float64{1, 1, 1} {
		t.Error(got)
	}
	for _, o := range []outcome{outcomeInternal, outcomeUpstreamTimeout, outcomeRefused} {
		a.settled(o)
	}
	a.tick()
	if got := sharesOf(&a); got != [3]float64{.25, .25, .25} {
		t.Error(got)
	}
}
