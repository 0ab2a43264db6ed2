package pools

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"
)

// through is what a meter's state is after a restart: saved, written down, read and restored at the moment back.
func through(t *testing.T, m *Meter, now, back time.Time) (Meter, Saved) {
	t.Helper()
	s, some := m.Save(now)
	if !some {
		t.Fatalf("%+v: idle with %d used", m.limit, m.Used(now))
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var read Saved
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if err := read.Valid(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return RestoreMeter(read, back), read
}

func TestAMeterGoesOnAfterAPauseWhereItWas(t *testing.T) {
	window := func(n int64, per time.Duration) Limit { return Limit{N: n, Per: per} }
	bucket := func(n int64, per time.Duration, burst int64) Limit { return Limit{n, per, burst} }
	for _, tc := range []struct {
		name  string
		limit Limit
		take  []int64 // one every 6 s
		pause time.Duration
		left  int64
	}{
		{"window, no pause", window(100, 10*time.Minute), []int64{50, 30, 10}, 0, 10},
		{"window, shorter than its span", window(100, 10*time.Minute), []int64{50, 30, 10}, time.Minute, 10},
		{"window, the oldest has left", window(100, 10*time.Minute), []int64{50, 30, 10}, 10*time.Minute - 9*time.Second, 60},
		{"window, over", window(100, 10*time.Minute), []int64{50, 30, 10}, 11 * time.Minute, 100},
		{"cells, no pause", window(1000, 10*time.Minute), []int64{500, 300, 100}, 0, 100},
		{"cells, the oldest has left", window(1000, 10*time.Minute), []int64{500, 300, 100}, 10*time.Minute - 6*time.Second, 600},
		{"cells, over", window(1000, 10*time.Minute), []int64{500, 300, 100}, 11 * time.Minute, 1000},
		{"bucket, no pause", bucket(1, time.Minute, 100), []int64{90}, 0, 10},
		{"bucket, a few tokens", bucket(1, time.Minute, 100), []int64{90}, 5*time.Minute + time.Second, 15},
		{"bucket, full again", bucket(1, time.Minute, 100), []int64{90}, 2 * time.Hour, 100},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := t0
			m := NewMeter(tc.limit, now)
			for i, cost := range tc.take {
				if i > 0 {
					now = now.Add(6 * time.Second)
				}
				if !m.Take(now, cost) {
					t.Fatal("not paid")
				}
			}
			// The other process has another clock; what counts is the moment of its own that the pause began at.
			boot := time.Date(1970, 1, 1, 0, 0, 7, 0, time.UTC)
			r, _ := through(t, &m, now, boot)
			if got := r.Remaining(boot.Add(tc.pause)); got != tc.left || r.Limit() != tc.limit {
				t.Errorf("%d left of %+v, want %d of %+v", got, r.Limit(), tc.left, tc.limit)
			}
			if want := m.Remaining(now.Add(tc.pause)); want != tc.left {
				t.Errorf("the meter that was not saved has %d left, want %d", want, tc.left)
			}
		})
	}
}

func TestAnIdleMeterNeedsNoSaving(t *testing.T) {
	for _, l := range []Limit{{N: 100, Per: time.Minute}, {N: 1000, Per: time.Minute}, {N: 1, Per: time.Second, Burst: 5}} {
		m := NewMeter(l, t0)
		if s, some := m.Save(t0); some {
			t.Errorf("new: %+v", s)
		}
		m.Take(t0, 1)
		if _, some := m.Save(t0); !some {
			t.Errorf("%+v: something is paid", l)
		}
		if s, some := m.Save(t0.Add(2 * time.Minute)); some {
			t.Errorf("idle again: %+v", s)
		}
	}
}

// busyMeter plays random payments and returns, more than the limit has.
func busyMeter(rng *rand.Rand, l Limit) (m Meter, now time.Time) {
	now = t0
	m = NewMeter(l, now)
	type paid struct {
		at   time.Time
		cost int64
	}
	var all []paid
	for range 50 + rng.IntN(400) {
		now = now.Add(time.Duration(rng.Int64N(int64(l.Per)/50 + 2)))
		cost := 1 + rng.Int64N(l.Depth()/20+1)
		if m.Take(now, cost) {
			all = append(all, paid{now, cost})
		}
		if len(all) > 0 && rng.IntN(5) == 0 {
			i := rng.IntN(len(all))
			m.Return(now, all[i].at, all[i].cost)
			all = append(all[:i], all[i+1:]...)
		}
	}
	return m, now
}

func TestARestoredMeterNeverHasMoreLeftAndSoonAsMuch(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for i := range 2000 {
		l := Limit{
			N:   []int64{1, 3, 20, 128, 129, 5000}[rng.IntN(6)],
			Per: []time.Duration{1, 1000, time.Second, time.Minute, 10 * time.Minute, time.Hour}[rng.IntN(6)],
		}
		if i%3 == 0 {
			l.Burst = []int64{1, 7, 1000}[rng.IntN(3)]
		}
		m, now := busyMeter(rng, l)
		if i%4 == 1 && l.Burst == 0 {
			l.N = []int64{50, 1000}[rng.IntN(2)] // stamps of cells in a window of exact ones, and the other way round
			m.SetLimit(now, l)
		}
		if m.Idle(now) {
			continue
		}
		r, s := through(t, &m, now, now)
		if r.Used(now) != m.Used(now) || r.Remaining(now) != m.Remaining(now) {
			t.Fatalf("%+v: %d used after, %d before", l, r.Used(now), m.Used(now))
		}
		again, s2 := through(t, &r, now, now)
		if !bytes.Equal(s.Paid, s2.Paid) || s.Missing != s2.Missing {
			t.Fatalf("%+v: saved again at the same moment it is another: %x, %x", l, s.Paid, s2.Paid)
		}
		late := l.Per / fineness
		if l.N > exactUpTo || l.Burst > 0 {
			late = 0
		}
		for range 30 {
			now = now.Add(time.Duration(rng.Int64N(int64(l.Per)/20 + 2)))
			cost := 1 + rng.Int64N(l.Depth())
			ra, rb, rc := m.Ready(now, cost), r.Ready(now, cost), again.Ready(now, cost)
			if rb.Before(ra) || rb.Sub(ra) > late || !rc.Equal(rb) {
				t.Fatalf("%+v: cost %d is ready at %v, once restored at %v, twice at %v", l, cost, ra.Sub(t0), rb.Sub(t0), rc.Sub(t0))
			}
			if rng.IntN(3) == 0 && r.Take(now, cost) && (!m.Take(now, cost) || !again.Take(now, cost)) {
				t.Fatalf("%+v: cost %d was paid once restored, and not by the others", l, cost)
			}
		}
	}
}

func TestAWindowIsSavedInFewBytes(t *testing.T) {
	for _, l := range []Limit{{N: 128, Per: 10 * time.Minute}, {N: 50_000, Per: time.Hour}} {
		m := NewMeter(l, t0)
		now := t0
		for range 500 {
			now = now.Add(l.Per / 128)
			m.Take(now, l.N/128)
		}
		s, _ := m.Save(now)
		if n := m.window.size; n < 127 || len(s.Paid) > 4*int(n) {
			t.Errorf("%+v: %d bytes for %d payments", l, len(s.Paid), n)
		}
	}
}

func TestWhatIsDamagedIsNotValid(t *testing.T) {
	m := NewMeter(Limit{N: 100, Per: time.Minute}, t0)
	m.Take(t0, 3)
	m.Take(t0.Add(time.Second), 4)
	good, _ := m.Save(t0.Add(2 * time.Second))
	b := NewMeter(Limit{N: 1, Per: time.Second, Burst: 10}, t0)
	b.Take(t0, 3)
	bucket, _ := b.Save(t0)
	for name, s := range map[string]Saved{
		"no limit":               {Paid: good.Paid},
		"nothing paid":           {Limit: good.Limit},
		"an age only":            {Limit: good.Limit, Paid: good.Paid[:5]},
		"the newest is cut off":  {Limit: good.Limit, Paid: good.Paid[:len(good.Paid)-3]},
		"half a payment":         {Limit: good.Limit, Paid: good.Paid[:len(good.Paid)-1]},
		"older than its span":    {Limit: Limit{N: 100, Per: time.Second}, Paid: good.Paid},
		"both kinds":             {Limit: good.Limit, Paid: good.Paid, Missing: 1},
		"an empty bucket's less": {Limit: bucket.Limit, Missing: 10*int64(time.Second) + 1},
		"a full bucket":          {Limit: bucket.Limit},
		"a bucket with payments": {Limit: bucket.Limit, Missing: 1, Paid: good.Paid},
	} {
		if s.Valid() == nil {
			t.Errorf("%s: %+v is valid", name, s)
		}
	}
	if good.Valid() != nil || bucket.Valid() != nil {
		t.Errorf("%v, %v", good.Valid(), bucket.Valid())
	}
}

func FuzzSaved(f *testing.F) {
	for _, l := range []Limit{{N: 100, Per: time.Minute}, {N: 5000, Per: time.Minute}, {N: 3, Per: time.Second, Burst: 10}} {
		m, now := busyMeter(rand.New(rand.NewPCG(1, 1)), l)
		s, _ := m.Save(now)
		f.Add(l.N, int64(l.Per), l.Burst, s.Missing, s.Paid)
	}
	f.Fuzz(func(t *testing.T, n, per, burst, missing int64, paid []byte) {
		s := Saved{Limit: Limit{n, time.Duration(per), burst}, Missing: missing, Paid: paid}
		if s.Valid() != nil {
			return
		}
		m := RestoreMeter(s, t0)
		if burst == 0 && m.window.used <= 0 || m.Remaining(t0) < 0 || m.Idle(t0) {
			t.Fatalf("%+v: restored with %d used, idle %v", s, m.Used(t0), m.Idle(t0))
		}
		again, _ := through(t, &m, t0, t0)
		if again.Used(t0) != m.Used(t0) {
			t.Fatalf("%+v: %d used, and %d once more", s, m.Used(t0), again.Used(t0))
		}
		if idle := m.Ready(t0, s.Limit.Depth()); !again.Ready(t0, s.Limit.Depth()).Equal(idle) {
			t.Fatalf("%+v: another moment at which it is idle", s)
		}
	})
}
