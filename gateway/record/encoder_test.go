package record

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"math/rand"
	"testing"
	"time"
)

// usual makes rows as a gateway has them: callers of very different size, three semantics.
func usual(n, callers int, tenants bool) []row {
	r := rand.New(rand.NewSource(1))
	z := rand.NewZipf(r, 1.2, 2, uint64(callers-1))
	semantics := []string{"chat", "export", "search"}
	at, rows := int64(1764450000000), make([]row, n)
	names := make([]string, callers) // one string for each, as a configuration has them
	for i := range names {
		names[i] = fmt.Sprintf("caller-%02d", i)
	}
	for i := range rows {
		if r.Intn(30) == 0 {
			at++
		}
		c := z.Uint64()
		s := semantics[c%3]
		rows[i] = row{
			at: at + int64(r.Intn(20)), caller: names[c], semantic: s, route: s, outcome: "served", cost: 1,
			bytes: int64(math.Exp(r.NormFloat64() + 7)), seat: time.Duration(math.Exp(r.NormFloat64()*0.7+2.5) * 1e6),
		}
		if tenants {
			rows[i].tenant = (c*1000 + uint64(r.Intn(50)) + 1) * 0x9e3779b97f4a7c15 >> 16
		}
		if i%50 == 0 {
			rows[i].outcome, rows[i].code, rows[i].seat, rows[i].bytes = "refused", "rate_exceeded", 0, 0
		}
	}
	return rows
}

func unzip(t testing.TB, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAMemberUnzipsToItsText(t *testing.T) {
	e := newEncoder()
	for range 3 { // nothing is left over from the one before
		got := unzip(t, e.member(usual(1000, 100, true), true))
		if !bytes.Equal(got, e.text) {
			t.Fatal("differs")
		}
	}
	t.Logf("%s", e.text[:400])
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
				b.ReportMetric(float64(len(e.text))/batchRows, "text_B/entry")
			})
		}
	}
}
