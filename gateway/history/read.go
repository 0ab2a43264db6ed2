package history

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"
)

// Values are how something was, a step apart, oldest first; NaN where it is unknown.
type Values struct {
	From   time.Time // of the first
	Step   time.Duration
	Fields [][]float64 // in the order of Fields; all of one length
}

// Read says how something was up to a time, over a span of at most ByMinute: by the second where the span is no longer than
// BySecond and still remembered so, else by the minute, the last of which may be under way. A caller without a part is the sum
// of its semantics. Not ok: nothing was ever remembered under that name. What is on the disk is waited for until ctx ends; then,
// or when the disk does not work, only what is in memory is told.
func (h *History) Read(ctx context.Context, k Key, until time.Time, span time.Duration) (v Values, ok bool) {
	if !k.Kind.known() {
		return v, false
	}
	span = min(max(span, time.Second), ByMinute)
	h.mu.Lock()
	defer h.mu.Unlock()
	of, end := h.names.of(k), until.Unix()
	ref := h.second
	if ref == 0 {
		ref = end
	} else if max(ref-end, end-ref) <= 2 {
		end = ref // the newest there is
	}
	from := end - int64((span+time.Second-1)/time.Second) + 1
	if span <= BySecond && from/slots >= ref/slots-secondsKept {
		return h.bySecond(k.Kind, of, from, end), len(of) > 0
	}
	return h.byMinute(ctx, k.Kind, of, end/slots-int64((span+time.Minute-1)/time.Minute)+1, end/slots), len(of) > 0
}

// Recent is the rate of a caller over its last n seconds, oldest first; fewer where less is known. Where a few seconds are
// missing, the one before stands for them.
func (h *History) Recent(caller string, n int) []float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	n = min(n, int(BySecond/time.Second))
	if h.second == 0 || n <= 0 {
		return nil
	}
	to := line{first: h.second - int64(n) + 1, fields: blank(1, n)}
	h.seconds(&to, h.names.callers[caller])
	rates := to.fields[0]
	const few = 5
	missing := 0
	for i := len(rates) - 1; i >= 0; i-- {
		if !math.IsNaN(rates[i]) {
			missing = 0
		} else if missing++; missing > few {
			rates = rates[i+missing:]
			break
		}
	}
	for len(rates) > 0 && math.IsNaN(rates[0]) {
		rates = rates[1:]
	}
	for i, v := range rates {
		if math.IsNaN(v) {
			rates[i] = rates[i-1]
		}
	}
	return rates
}

// line is the sum of some series under way.
type line struct {
	first  int64 // second or minute of the first value
	fields [][]float64
}

func blank(width, n int) [][]float64 {
	fields := make([][]float64, width)
	for f := range fields {
		fields[f] = slices.Repeat([]float64{math.NaN()}, n)
	}
	return fields
}

// know makes a step that is unknown one of zeros; not ok: it is not in the line.
func (l *line) know(at int64) (place int, ok bool) {
	place = int(at - l.first)
	if at < l.first || place >= len(l.fields[0]) {
		return 0, false
	}
	for _, f := range l.fields {
		f[place] = 0
	}
	return place, true
}

// of are the series whose sum a key is.
func (n *names) of(k Key) []*series {
	if k.Kind == Caller && k.Part == "" {
		return n.callers[k.Name]
	}
	if s := n.byKey[k]; s != nil {
		return []*series{s}
	}
	return nil
}

// bySecond lets go of the lock while it unpacks.
func (h *History) bySecond(k Kind, of []*series, from, end int64) Values {
	to := line{first: from, fields: blank(k.width(), int(end-from+1))}
	h.seconds(&to, of)
	return Values{From: time.Unix(from, 0), Step: time.Second, Fields: to.fields}
}

// seconds adds up what some series did by the second. The lock is held, but for the time in which it unpacks.
func (h *History) seconds(to *line, of []*series) {
	var room [MaxFields * slots]number
	for _, r := range []*running{h.before, h.now} {
		if r == nil {
			continue
		}
		to.minute(r.minute, r.ran, len(of), func(i int) (samples, bool) {
			_, lost := r.lost[of[i].id]
			return of[i].minute(r == h.before).spread(&room), !lost
		})
	}
	minutes := slices.Clone(h.packed)
	h.mu.Unlock()
	defer h.mu.Lock()
	for _, p := range minutes {
		to.minute(p.minute, p.ran, len(of), func(i int) (samples, bool) {
			b := p.block(of[i].id)
			if b == nil {
				return nil, true
			}
			s := samples(room[:len(to.fields)*slots])
			return s, b.unpack(s) == nil
		})
	}
}

// minute adds the seconds of a minute: of each of n series its samples, nil where it was 0; not ok: it is unknown.
func (l *line) minute(minute int64, ran uint64, n int, each func(i int) (s samples, ok bool)) {
	if minute*slots+slots <= l.first || minute*slots >= l.first+int64(len(l.fields[0])) {
		return
	}
	for second := range int64(slots) {
		if ran>>second&1 != 0 {
			l.know(minute*slots + second)
		}
	}
	for i := range n {
		s, ok := each(i)
		if len(s) == 0 && ok {
			continue
		}
		for second := range int64(slots) {
			place := int(minute*slots + second - l.first)
			if ran>>second&1 == 0 || place < 0 || place >= len(l.fields[0]) {
				continue
			}
			for f := range l.fields {
				if !ok {
					l.fields[f][place] = math.NaN()
				} else {
					l.fields[f][place] += s.field(f)[second].float()
				}
			}
		}
	}
}

// byMinute lets go of the lock while it adds up.
func (h *History) byMinute(ctx context.Context, k Kind, of []*series, from, end int64) Values {
	to := line{first: from, fields: blank(k.width(), int(end-from+1))}
	tallies, of := slices.Clone(h.tallies), slices.Clone(of)
	for _, r := range []*running{h.before, h.now} {
		if r != nil && r.ran != 0 {
			tallies = append(tallies, r.soFar(of, r == h.before))
		}
	}
	h.mu.Unlock()
	defer h.mu.Lock()
	if h.keeper != nil && !h.keeper.read(ctx, of, &to) {
		to.fields = blank(k.width(), int(end-from+1)) // of what is on the disk all, or nothing
	}
	for _, t := range tallies {
		place, ok := to.know(t.minute) // memory knows better
		for i := 0; ok && i < len(of); i++ {
			for f, n := range t.of(of[i].id) {
				to.fields[f][place] += n.float()
			}
		}
	}
	return Values{From: time.Unix(from*slots, 0), Step: time.Minute, Fields: to.fields}
}

// minute is the running minute, or the one before that is being packed; of length 0: nothing but zeros.
func (s *series) minute(before bool) raw {
	if before {
		return s.before
	}
	return s.now
}

// soFar is the tally of a minute that is not packed yet, of some series.
func (r *running) soFar(of []*series, over bool) *tally {
	of = slices.Clone(of)
	slices.SortFunc(of, func(a, b *series) int { return cmp.Compare(a.id, b.id) })
	var ids []id
	var values []number
	var room [MaxFields * slots]number
	for _, s := range of {
		now := s.minute(over).spread(&room)
		_, lost := r.lost[s.id]
		if len(now) == 0 && !lost {
			continue
		}
		if lost {
			now = nothingKnown[:s.key.Kind.width()*slots]
		}
		ids = append(ids, s.id)
		values = summary(values, s.id.kind(), now, r.ran)
	}
	t, _ := tallyOf(r.minute, ids, values) // has what its ids have
	return t
}
