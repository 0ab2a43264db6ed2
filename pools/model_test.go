package pools

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

// model is a meter written down plainly: a list of all payments and, for a bucket, a level in rational numbers. For
// a window of cells it knows only the bounds.
type model struct {
	limit  Limit
	last   time.Time
	paid   []paidAt
	tokens *big.Rat
}

type paidAt struct {
	at   time.Time
	cost int64
}

func newModel(l Limit) *model {
	return &model{limit: l, last: t0, tokens: big.NewRat(l.Burst, 1)}
}

func (o *model) advance(now time.Time) {
	if now.After(o.last) {
		gained := new(big.Rat).Mul(big.NewRat(int64(now.Sub(o.last)), int64(o.limit.Per)), big.NewRat(o.limit.N, 1))
		o.add(gained)
		o.last = now
	}
}

func (o *model) add(tokens *big.Rat) {
	o.tokens.Add(o.tokens, tokens)
	if depth := big.NewRat(o.limit.Burst, 1); o.tokens.Cmp(depth) > 0 {
		o.tokens = depth
	}
}

// used is what was paid in the Per (and slack) before now, and not returned.
func (o *model) used(slack time.Duration) (sum int64) {
	for _, p := range o.paid {
		if o.last.Sub(p.at) < o.limit.Per+slack {
			sum += p.cost
		}
	}
	return sum
}

func (o *model) give(at time.Time, cost int64) {
	for i := range o.paid {
		if p := &o.paid[i]; p.at.Equal(at) {
			take := min(cost, p.cost)
			p.cost -= take
			cost -= take
		}
	}
}

// script reads a sequence of operations from bytes: the fuzz test's input, or a random one.
type script []byte

func (s *script) next() int64 {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return int64(b)
}

// playAgainstModel runs a script on a meter and on the model, and compares them after each operation.
func playAgainstModel(t *testing.T, s script) {
	ns := []int64{1, 2, 3, 7, 128, 129, 1000, 50_000}
	pers := []time.Duration{time.Nanosecond, 100, 999, time.Millisecond, time.Second, 61 * time.Second, time.Hour}
	l := Limit{N: ns[s.next()%8], Per: pers[s.next()%7]}
	if s.next()%2 == 1 {
		l.Burst = ns[s.next()%8]
	}
	if l.Valid() != nil {
		t.Fatalf("%+v: %v", l, l.Valid())
	}
	m, o := NewMeter(l, t0), newModel(l)
	cells := l.Burst == 0 && l.N > exactUpTo
	slack := time.Duration(0)
	if cells {
		slack = (l.Per-1)/128 + 1
	}
	now := t0
	unit := max(1, l.Per/64)
	for len(s) > 0 {
		op := s.next()
		switch op % 8 {
		case 0, 1: // time goes on, in steps from none to a few Per
			now = now.Add(time.Duration(s.next()) * unit / 16)
		case 2: // or stands, or goes back: the meter must not mind
			now = now.Add(-time.Duration(s.next()) * unit / 64)
		case 3: // or goes on to the moment the meter said
			cost := 1 + s.next()*l.Depth()/200
			at := m.Ready(now, cost)
			if cost > l.Depth() {
				break
			}
			if at.After(now) && at.After(o.last) {
				before := m // its ring is shared, and this only reads
				early := at.Add(-1)
				before.window.ring = append([]payment(nil), m.window.ring...)
				if before.Take(early, cost) {
					t.Fatalf("%+v: cost %d paid 1 ns before the moment said", l, cost)
				}
			}
			now = at
			o.advance(now)
			if !m.Take(now, cost) {
				t.Fatalf("%+v: cost %d not paid at the moment said", l, cost)
			}
			o.pay(cost)
		case 4, 5, 6:
			cost := 1 + s.next()*l.Depth()/600
			o.advance(now)
			could, must := o.can(cost, slack)
			got := m.Take(now, cost)
			if got && !could || !got && must {
				t.Fatalf("%+v: Take(%d) = %v at %v; the list says possible %v, due %v", l, cost, got, now.Sub(t0), could, must)
			}
			if got {
				o.pay(cost)
			}
		case 7: // give back one of the last payments, whole or in part
			if len(o.paid) == 0 {
				break
			}
			p := o.paid[len(o.paid)-1-int(s.next())%min(len(o.paid), 8)]
			cost := p.cost
			if op >= 128 {
				cost /= 2
			}
			o.advance(now)
			m.Return(now, p.at, cost)
			o.give(p.at, cost)
			o.add(big.NewRat(cost, 1))
		}
		o.advance(now)
		o.compare(t, &m, now, slack)
	}
}

func (o *model) pay(cost int64) {
	o.paid = append(o.paid, paidAt{o.last, cost})
	o.tokens.Sub(o.tokens, big.NewRat(cost, 1))
}

// can says whether cost may be paid, and whether it has to be.
func (o *model) can(cost int64, slack time.Duration) (could, must bool) {
	if o.limit.Burst > 0 {
		could = o.tokens.Cmp(big.NewRat(cost, 1)) >= 0
		return could, could
	}
	return o.used(0)+cost <= o.limit.N, o.used(slack)+cost <= o.limit.N
}

func (o *model) compare(t *testing.T, m *Meter, now time.Time, slack time.Duration) {
	used, remaining := m.Used(now), m.Remaining(now)
	if used+remaining != o.limit.Depth() || remaining < 0 {
		t.Fatalf("%+v: used %d and remaining %d", o.limit, used, remaining)
	}
	if o.limit.Burst > 0 {
		want := new(big.Int).Div(o.tokens.Num(), o.tokens.Denom()).Int64()
		if remaining != want {
			t.Fatalf("%+v: %d left, the level is %v", o.limit, remaining, o.tokens)
		}
	} else if least, most := o.used(0), o.used(slack); used < least || used > most {
		t.Fatalf("%+v: used %d, the list says %d to %d", o.limit, used, least, most)
	}
	if m.Idle(now) && (used > 0 || o.used(0) > 0 && o.limit.Burst == 0) {
		t.Fatalf("%+v: idle with %d used", o.limit, used)
	}
	if n := len(m.window.ring); n > mostCells {
		t.Fatalf("%+v: the ring has grown to %d", o.limit, n)
	}
}

func TestMeterAgreesWithTheListOfAllItsPayments(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 600 {
		s := make(script, 400)
		for i := range s {
			s[i] = byte(r.UintN(256))
		}
		playAgainstModel(t, s)
	}
}

func FuzzMeter(f *testing.F) {
	f.Add([]byte{0, 4, 0, 3, 10, 0, 255, 4, 100, 7, 0})
	f.Add([]byte{5, 5, 1, 3, 4, 255, 3, 200, 2, 9, 7, 1, 135, 0})
	f.Add([]byte{6, 4, 0, 4, 255, 4, 255, 0, 3, 4, 255, 7, 0, 1, 250, 3, 99})
	f.Fuzz(func(t *testing.T, ops []byte) { playAgainstModel(t, ops[:min(len(ops), 600)]) })
}
