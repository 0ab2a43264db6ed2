package history

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// model is the same in the simplest way: every second as it was.
type model map[int64]map[Key]Sample

// value is a key's number in a second; NaN: unknown.
func (m model) value(second int64, k Key, f int) float64 {
	all, ok := m[second]
	if !ok {
		return math.NaN()
	}
	sum := 0.0
	for of, s := range all {
		if of == k || k.Kind == Caller && k.Part == "" && of.Kind == Caller && of.Name == k.Name {
			sum += numberOf(s[f]).float()
		}
	}
	return sum
}

// minute is its number in a minute, of each series on its own, as what is seldom is rounded on its own.
func (m model) minute(minute int64, k Key, f int) float64 {
	sum, known := 0.0, 0
	for second := minute * slots; second < (minute+1)*slots; second++ {
		v := m.value(second, k, f)
		switch {
		case math.IsNaN(v):
		case k.Kind.highest(f):
			sum, known = max(sum, v), 1
		default:
			sum, known = sum+v, known+1
		}
	}
	if known == 0 {
		return math.NaN()
	}
	return sum / float64(known)
}

func near(got, want, share, floor float64) bool {
	if math.IsNaN(got) || math.IsNaN(want) {
		return math.IsNaN(got) && math.IsNaN(want)
	}
	return math.Abs(got-want) <= max(want*share, floor)
}

// Whatever happens, in whatever order: what is read is what was.
func TestItIsAsANaiveModelHasIt(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { playModel(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func playModel(t *testing.T, rnd *rand.Rand) {
	keys := []Key{
		{Total, "", ""},
		{Pool, "shared", ""},
		{Level, "shared", "realtime"},
		{Level, "shared", "batch"},
		{Caller, "ann", "chat"},
		{Caller, "ann", "export"},
		{Caller, "bob", "chat"},
		{Caller, "cleo", "default"},
	}
	asked := append(keys, Key{Caller, "ann", ""}, Key{Caller, "bob", ""})
	m := make(model)
	d := newDesk(t)
	d.now = t0.Add(time.Duration(rnd.IntN(7200)) * time.Second)
	for range 20 {
		switch rnd.IntN(8) {
		case 0:
			d.restart()
		case 1:
			d.now = d.now.Add(time.Duration(3+rnd.IntN(600)) * time.Second) // nobody counts
		case 2:
			if !m.setBack(d, time.Duration(61+rnd.IntN(5000))*time.Second) {
				continue
			}
		}
		scale := math.Pow(10, float64(rnd.IntN(5)))
		quiet := rnd.IntN(3) == 0
		d.run(time.Duration(rnd.IntN(900))*time.Second, func(at time.Time) map[Key]Sample {
			all := make(map[Key]Sample)
			for _, k := range keys {
				if quiet && k.Kind == Caller || rnd.IntN(4) == 0 {
					continue
				}
				var s Sample
				for f := range k.Kind.width() {
					s[f] = float32(math.Floor(rnd.Float64()*scale*8) / 8)
				}
				all[k] = s
			}
			m[at.Unix()] = all
			delete(d.lost, at.Unix())
			return all
		})
		if rnd.IntN(3) == 0 {
			d.check(m, asked, BySecond)
			d.check(m, asked, time.Duration(16+rnd.IntN(200))*time.Minute)
		}
	}
	d.check(m, asked, BySecond)
	d.check(m, asked, 5*time.Hour)
	if len(d.failed) > 0 {
		t.Error(d.failed)
	}
}

// setBack sets the clock back, and so forgets what was after. It stays inside the hour: of hours that are over, what was after
// is written over minute by minute.
func (m model) setBack(d *desk, by time.Duration) bool {
	if d.now.Truncate(time.Hour) != d.now.Add(-by).Truncate(time.Hour) {
		return false
	}
	d.now = d.now.Add(-by)
	for second := range m {
		if second/slots < d.second/slots-secondsKept {
			d.lost[second] = true // to be known by the second
		}
		if second >= d.now.Unix() || second/slots == d.now.Unix()/slots && d.lost[second] {
			delete(m, second) // of a minute that is not known by the second any more, nothing is left
		}
	}
	return true
}

func (d *desk) check(m model, asked []Key, span time.Duration) {
	d.t.Helper()
	for _, k := range asked {
		v, _ := d.Read(context.Background(), k, d.now.Add(-time.Second), span)
		for f := range v.Fields {
			for i, got := range v.Fields[f] {
				at := v.From.Add(time.Duration(i) * v.Step)
				want, share, floor := 0.0, 1e-9, 1e-9
				if v.Step == time.Second {
					if want = m.value(at.Unix(), k, f); d.lost[at.Unix()] {
						want = math.NaN()
					}
				} else {
					want, share, floor = m.minute(at.Unix()/slots, k, f), 1./200, 1./500
				}
				if !near(got, want, share, floor) {
					d.t.Fatalf("%v %s at %v by %v is %v, want %v", k, fields[k.Kind][f], at.Format(time.TimeOnly), v.Step, got, want)
				}
			}
		}
	}
}
