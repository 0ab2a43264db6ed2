package record

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fields is a row as CSV fields, made apart from the encoder.
func fields(r *row) []string {
	clean := strings.NewReplacer("\n", " ", "\r", " ").Replace
	tenant, seat, outcome := "", "0", r.outcome
	if r.tenant != 0 {
		tenant = hex.EncodeToString([]byte{byte(r.tenant >> 40), byte(r.tenant >> 32), byte(r.tenant >> 24), byte(r.tenant >> 16), byte(r.tenant >> 8), byte(r.tenant)})
	}
	if r.seat >= time.Microsecond {
		seat = fmt.Sprintf("%d.%03d", r.seat/time.Millisecond, r.seat%time.Millisecond/time.Microsecond)
	}
	if r.code != "" && r.code != r.outcome {
		outcome += ":" + r.code
	}
	return []string{
		strconv.FormatInt(r.at, 10), clean(r.caller), clean(r.semantic), strconv.FormatInt(r.bytes, 10),
		clean(r.route), tenant, strconv.FormatInt(r.cost, 10), seat, clean(outcome),
	}
}

// holds checks that a member says what its rows say.
func holds(t *testing.T, member []byte, rows []row) {
	t.Helper()
	got, err := csv.NewReader(bytes.NewReader(unzip(t, member))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(rows)+1 || !slices.Equal(got[0], strings.Split(Header, ",")) {
		t.Fatalf("%d lines, the first %q; want the header and %d", len(got), got[0], len(rows))
	}
	for i := range rows {
		if want := fields(&rows[i]); !slices.Equal(got[i+1], want) {
			t.Fatalf("line %d:\n%q, want\n%q", i, got[i+1], want)
		}
	}
}

func TestAMemberSaysWhatItsRowsSay(t *testing.T) {
	e := newEncoder()
	odd := []row{
		{caller: `a"b`, semantic: "c,d", route: " ", outcome: "x\ny"},
		{at: -5, bytes: -1, cost: -7, seat: -time.Second},
		{at: 1<<63 - 1, bytes: 1<<63 - 1, cost: 1<<63 - 1, seat: 1<<63 - 1, tenant: 1<<48 - 1},
		{at: 999_999_999_999, seat: time.Microsecond, bytes: 999_999, tenant: 1},
		{at: 999_999_999_999, seat: 999 * time.Nanosecond, bytes: 1_000_000, outcome: "refused", code: "queue,full"},
		{at: 1_000_000_000_000, caller: strings.Repeat("long", 300), outcome: "internal", code: "internal"},
		{at: 1_000_000_000_001, caller: strings.Repeat("long", 300)},
	}
	for i := range 12 {
		odd = append(odd, row{at: 1_000_000_000_002, outcome: strconv.Itoa(i), code: "more than are remembered"})
	}
	var long []row // matches of all lengths
	for n := range 300 {
		name := strings.Repeat("x", n)
		long = append(long, row{at: 1, caller: name}, row{at: 2, caller: name, outcome: "y"}, row{at: 3, caller: name})
	}
	// One after another through the same encoder: nothing is left over from the member before.
	for _, rows := range [][]row{
		nil, odd, usual(1, 1, false), usual(batchRows, 3, false), usual(batchRows, 100, true),
		usual(5*batchRows, 100_000, true), slices.Concat(odd, odd), long,
	} {
		holds(t, e.member(rows, true), rows)
	}
}

// Places are counted by member in 32 bits.
func TestPlacesAreVoidWhenMembersHaveBeenCountedThrough(t *testing.T) {
	e, rows := newEncoder(), usual(100, 3, true)
	e.member(rows, true)
	e.members = 1<<32 - 1
	holds(t, e.member(rows, true), rows)
	holds(t, e.member(rows, true), rows)
}

func TestAMemberIsAsSmallAsTheUsualCompressorMakesIt(t *testing.T) {
	// 13 bytes a line of 57 is what gzip -1 comes to; with a hundred callers 14 to 16.
	for callers, most := range map[int]float64{3: 14, 100: 17} {
		if got := float64(len(newEncoder().member(usual(batchRows, callers, false), false))) / batchRows; got > most {
			t.Errorf("%d callers: %.1f bytes a line, want at most %v", callers, got, most)
		}
	}
}

func TestTheCodeIsOneThatInflatersTake(t *testing.T) {
	c := traceCodes()
	sum := func(codes []code) (sum int) {
		for _, c := range codes {
			if c.n == 0 || c.n > maxCodeBits {
				t.Errorf("a code of %d bits", c.n)
			}
			sum += 1 << (maxCodeBits - c.n)
		}
		return sum
	}
	// A code that leaves some sequence of bits without a meaning is refused.
	if got := sum(c.literal[:]); got != 1<<maxCodeBits {
		t.Errorf("literals fill %d of %d", got, 1<<maxCodeBits)
	}
	if got := sum(c.dist[:]); got != 1<<maxCodeBits {
		t.Errorf("distances fill %d of %d", got, 1<<maxCodeBits)
	}
	for _, digit := range "0123456789abcdef" {
		if n := c.literal[digit].n; n > 8 {
			t.Errorf("%c has %d bits: three of them no longer fit", digit, n)
		}
	}
}

func TestAMemberIsMadeWithoutAllocations(t *testing.T) {
	e, rows := newEncoder(), usual(batchRows, 100, true)
	e.member(rows, true)
	if n := testing.AllocsPerRun(20, func() { e.member(rows, true) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzEncoder(f *testing.F) {
	f.Add(int64(1764450000000), int64(3), "acme", "chat", "v1", uint64(5), int64(1), int64(100), int64(41_203_000), "refused", "queue_full")
	f.Add(int64(-1), int64(-1), "\"", ",", "\r\n", uint64(0), int64(-1), int64(-1), int64(-1), "", "x")
	f.Fuzz(func(t *testing.T, at, step int64, caller, semantic, route string, tenant uint64, cost, bytes, seat int64, outcome, code string) {
		if outcome == "" {
			code = ""
		}
		rows := make([]row, 40)
		for i := range rows {
			rows[i] = row{at, caller, semantic, route, outcome, code, tenant & (1<<tenantBits - 1), cost, bytes, time.Duration(seat)}
			at += step
			bytes ^= step * 7
			if i%3 == 0 {
				caller, semantic = semantic, caller
				tenant *= 31
			}
			if i%5 == 0 {
				outcome, code = "served", ""
			}
		}
		holds(t, newEncoder().member(rows, true), rows)
	})
}

func BenchmarkEncoder(b *testing.B) {
	for _, callers := range []int{3, 100, 10000} {
		for _, tenants := range []bool{false, true} {
			b.Run(fmt.Sprintf("callers=%d/tenants=%v", callers, tenants), func(b *testing.B) {
				rows, e := usual(batchRows, callers, tenants), newEncoder()
				out := 0
				for b.Loop() {
					out = len(e.member(rows, false))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batchRows, "ns/entry")
				b.ReportMetric(float64(out)/batchRows, "B/entry")
				b.ReportMetric(float64(e.n)/batchRows, "text-B/entry")
			})
		}
	}
}
