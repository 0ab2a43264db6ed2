package record

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// cpu is what the process has used of all cores.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// All that an entry costs: Add on a request's way, and the goroutine behind it that makes lines, compresses and
// writes them to a disk. The figure that counts is cpu-ns/entry.
func BenchmarkAdd(b *testing.B) {
	for _, callers := range []int{3, 100, 10000} {
		for _, tenants := range []bool{false, true} {
			b.Run(fmt.Sprintf("callers=%d/tenants=%v", callers, tenants), func(b *testing.B) { benchmarkAdd(b, callers, tenants) })
		}
	}
}

func benchmarkAdd(b *testing.B, callers int, tenants bool) {
	o := options(b.TempDir())
	o.MaxBytes = 1 << 30
	r, err := Open(o)
	if err != nil {
		b.Fatal(err)
	}
	rows := usual(2*batchRows, callers, tenants)
	entries := make([]Entry, len(rows))
	var names [1000][]byte
	for i := range names {
		names[i] = fmt.Appendf(nil, "tenant-%d", i)
	}
	for i := range rows {
		p := &rows[i]
		entries[i] = Entry{
			At: time.UnixMilli(p.at), Caller: p.caller, Semantic: p.semantic, Route: p.route, Cost: 1, Bytes: p.bytes,
			Seat: p.seat, Outcome: p.outcome, Code: p.code,
		}
		if p.tenant != 0 {
			entries[i].Tenant = names[p.tenant%50]
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	before, i := cpu(b), 0
	for b.Loop() {
		r.Add(&entries[i%len(entries)])
		i++
		if i%batchRows == 0 { // no faster than they are written: what is dropped costs nothing
			for s := r.Stats(); s.Written+s.Dropped+4*batchRows < uint64(i); s = r.Stats() {
				time.Sleep(50 * time.Microsecond)
			}
		}
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
	s := r.Stats()
	b.ReportMetric(float64(cpu(b)-before)/float64(i), "cpu-ns/entry")
	b.ReportMetric(float64(s.Bytes)/float64(s.Written), "B/entry")
	b.ReportMetric(float64(s.Dropped), "dropped")
}
