package history

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"
)

func callers(from, to int) map[Key]Sample {
	all := make(map[Key]Sample)
	for i := from; i < to; i++ {
		all[Key{Caller, fmt.Sprint("caller-", i), "chat"}] = Sample{Rate: 5}
	}
	return all
}

func always(all map[Key]Sample) func(time.Time) map[Key]Sample {
	return func(time.Time) map[Key]Sample { return all }
}

func caller(i int) Key { return Key{Caller, fmt.Sprint("caller-", i), "chat"} }

func TestWhoWasQuietForLongestGivesWay(t *testing.T) {
	d := newDesk(t)
	d.Close()
	d.most = 10
	d.open()
	step := func(long time.Duration, all ...map[Key]Sample) {
		together := make(map[Key]Sample)
		for _, some := range all {
			for k, s := range some {
				together[k] = s
			}
		}
		d.run(long, always(together))
	}
	step(10*time.Second, callers(0, 10))
	step(10*time.Second, callers(2, 10)) // 0 and 1 are quiet for longest
	step(10*time.Second, callers(4, 10)) // then 2 and 3
	step(30*time.Second, callers(4, 10), callers(10, 12))
	if st := d.Stats(); st.Series != 10 || st.GaveWay != 2 {
		t.Errorf("%+v", st)
	}
	for i, want := range map[int]string{0: "60x-", 1: "60x-", 2: "20x5 40x0", 3: "20x5 40x0", 4: "60x5", 11: "30x0 30x5"} {
		d.want(fmt.Sprint("caller ", i), d.last(caller(i), time.Minute, Rate), want)
	}
	// While all are busy, it is the newcomer.
	step(time.Minute, callers(0, 10), map[Key]Sample{{Total, "", ""}: {Rate: 60}})
	step(0)
	d.run(time.Minute, func(time.Time) map[Key]Sample { return callers(0, 10) })
	was := d.Stats().GaveWay
	d.run(30*time.Second, func(at time.Time) map[Key]Sample {
		all := callers(0, 10)
		if at.Second() >= 10 {
			all[caller(99)] = Sample{Rate: 7}
		}
		return all
	})
	if n := d.Stats().GaveWay - was; n == 0 {
		t.Error("nobody has given way")
	}
	d.want("the newcomer", d.last(caller(99), 30*time.Second, Rate), "30x-")
	d.want("who was there", d.last(caller(3), 30*time.Second, Rate), "30x5")
	d.run(30*time.Second, always(callers(0, 10)))
	d.run(2*time.Minute, always(callers(99, 100)))
	d.restart()
	d.want("the newcomer later", d.last(caller(99), 3*time.Minute, Rate), "60x- 120x5")
	d.want("and by the minute", d.last(caller(99), 20*time.Minute, Rate)[16:], "1x0 1x- 2x5")
	d.want("the whole is not bounded", d.last(Key{Kind: Total}, 6*time.Minute, Rate)[60:120], "60x60")
	if len(d.failed) > 0 {
		t.Error(d.failed)
	}
}

func TestNoneAreRememberedOfCallersIfNoneMayBe(t *testing.T) {
	d := newDesk(t)
	d.Limit(-1)
	d.run(time.Minute, func(time.Time) map[Key]Sample {
		return map[Key]Sample{alice: {Rate: 5}, {Pool, "shared", ""}: {Seats: 8}}
	})
	d.want("a caller", d.last(alice, time.Minute, Rate), "60x-")
	if n := d.Stats().GaveWay; n != 0 {
		t.Errorf("%d have given way", n)
	}
	d.want("a pool", d.last(Key{Kind: Pool, Name: "shared"}, time.Minute, Seats), "60x8")
}

func TestNamesHaveABound(t *testing.T) {
	d := newDesk(t)
	d.Close()
	d.most = 100
	d.open()
	for i := range 100 {
		d.run(2*time.Second, always(callers(i*100, i*100+100)))
	}
	if n := len(d.names.byKey); n > mostNames(100) {
		t.Errorf("%d names are known", n)
	}
	if d.Stats().GaveWay == 0 {
		t.Error("it is not said")
	}
}

// The worst there is: everything changes all the time, in all fields.
func TestMemoryHasABoundWhateverComes(t *testing.T) {
	d := newDesk(t)
	d.Close()
	d.path, d.most = "", fewSeries
	d.open()
	x := uint32(1)
	names := make([]Key, fewSeries)
	for i := range names {
		names[i] = caller(i)
	}
	for range 17 * 60 {
		d.Add(d.now, func(yield func(Key, *Sample)) {
			for _, k := range names {
				var s Sample
				for f := range Caller.width() {
					x = x*1664525 + 1013904223
					s[f] = math.Float32frombits(0x30000000 + x>>4) // of all sizes
				}
				yield(k, &s)
			}
		})
		d.now = d.now.Add(time.Second)
	}
	d.Flush()
	if got := d.Stats().Bytes; got > (packedBytes+tallyBytes)*fewSeries {
		t.Errorf("%d KiB", got>>10)
	}
	if v := d.last(caller(3), BySecond, Rate); math.IsNaN(v[len(v)-1]) || !math.IsNaN(v[0]) {
		t.Errorf("it is not the oldest that went: %v", runs(v)[:80])
	}
}

// Without a file the minutes stay in memory, as far as they fit.
func TestWithoutADirectoryThereIsMemory(t *testing.T) {
	d := newDesk(t)
	d.Close()
	d.path = ""
	d.open()
	d.run(150*time.Minute, at(5))
	d.Flush()
	d.want("by the minute", d.last(alice, 3*time.Hour, Rate), "30x- 150x5")
	if since, err := d.Trouble(); err != nil {
		t.Error(since, err)
	}
}

func TestAllMayCallAtOnce(t *testing.T) {
	d := newDesk(t)
	stop := make(chan struct{})
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				for _, span := range []time.Duration{time.Minute, BySecond, ByMinute} {
					v, _ := d.Read(t.Context(), Key{Caller, "caller-1", ""}, t0.Add(time.Hour), span)
					for _, rate := range v.Fields[Rate] {
						if !math.IsNaN(rate) && rate != 0 && rate != 5 && v.Step == time.Second {
							t.Error("a rate of ", rate)
						}
					}
				}
				d.Recent("caller-2", 60)
				d.Stats()
				if _, err := d.Trouble(); err != nil {
					t.Error(err)
				}
				if i == 0 {
					d.Flush()
				}
				runtime.Gosched()
			}
		})
	}
	d.run(130*time.Minute, always(callers(0, 5)))
	d.Close()
	close(stop)
	all.Wait()
	d.Add(d.now, func(func(Key, *Sample)) { t.Error("it is asked after its end") })
	d.Close()
}

func TestRecentIsWhatIsKnown(t *testing.T) {
	d := newDesk(t)
	d.want("nothing yet", d.Recent("alice", 60), "")
	d.run(10*time.Second, at(5))
	d.want("ten seconds", d.Recent("alice", 60), "10x5")
	d.now = d.now.Add(3 * time.Second)
	d.run(10*time.Second, at(7))
	d.want("a small gap", d.Recent("alice", 60), "13x5 10x7")
	d.now = d.now.Add(time.Minute)
	d.run(20*time.Second, at(9))
	d.want("a large one", d.Recent("alice", 60), "20x9")
	d.run(100*time.Second, func(time.Time) map[Key]Sample {
		return map[Key]Sample{alice: {Rate: 2}, {Caller, "alice", "export"}: {Rate: 3}}
	})
	d.want("two semantics", d.Recent("alice", 60), "60x5")
	d.want("who never came", d.Recent("nobody", 5), "5x0")
}
