package config

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestDebounceWaitsForQuietButNotForEver(t *testing.T) {
	t0 := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ms := func(n int) time.Time { return t0.Add(time.Duration(n) * time.Millisecond) }
	for _, tc := range []struct {
		name  string
		notes []int // ms
		due   int
	}{
		{"one change", []int{0}, 150},
		{"a second one starts the quiet anew", []int{0, 100}, 250},
		{"the third one meets the limit", []int{0, 100, 200}, 300},
		{"a change at the limit does not move it", []int{0, 140, 280, 299}, 300},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var d debounce
			if _, ok := d.due(); ok {
				t.Fatal("due before any change")
			}
			for _, n := range tc.notes {
				d.note(ms(n))
			}
			if at, ok := d.due(); !ok || !at.Equal(ms(tc.due)) {
				t.Errorf("due at %v, want %d ms", at.Sub(t0), tc.due)
			}
			d.done()
			if _, ok := d.due(); ok {
				t.Error("due again after it was read")
			}
		})
	}
}

// memoryFile stands in for the file.
type memoryFile struct {
	mu       sync.Mutex
	content  string
	err      error
	written  time.Time
	sameStat bool // a change that size and time do not show
	notices  chan struct{}
}

func (f *memoryFile) write(content string) {
	f.set(content, nil)
	if f.notices != nil {
		select {
		case f.notices <- struct{}{}:
		default:
		}
	}
}

// set changes the file without a notice.
func (f *memoryFile) set(content string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.content, f.err = content, err
	if !f.sameStat {
		f.written = time.Now()
	}
}

func (f *memoryFile) read() ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return []byte(f.content), f.err
}

func (f *memoryFile) stat() fileState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fileState{modified: f.written}
}

type delivery struct {
	content string
	err     error
	at      time.Duration
}

// watched runs a loop over f in a bubble; steps acts on the file and sees what has been delivered so far.
func watched(t *testing.T, f *memoryFile, steps func(w *Watcher, got func() []delivery)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if f.notices != nil {
			f.notices = make(chan struct{}, 1)
		}
		begin := time.Now()
		w := NewWatcher("config.toml", "")
		w.read, w.stat = f.read, f.stat
		ctx, cancel := context.WithCancel(context.Background())
		var mu sync.Mutex
		var got []delivery
		delivered := func() []delivery {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(got)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.loop(ctx, f.notices, func(data []byte, err error) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, delivery{string(data), err, time.Since(begin)})
			})
		}()
		synctest.Wait()
		first := len(delivered()) // the first look
		steps(w, func() []delivery { return delivered()[first:] })
		cancel()
		<-ended
	})
}

func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestChangedFileIsDeliveredOnceWhenItRests(t *testing.T) {
	f := &memoryFile{content: "a", notices: make(chan struct{}, 1)}
	watched(t, f, func(_ *Watcher, got func() []delivery) {
		f.write("b, first half")
		after(100 * time.Millisecond)
		f.write("b")
		after(149 * time.Millisecond)
		if len(got()) != 0 {
			t.Errorf("delivered before it was quiet: %v", got())
		}
		after(time.Minute)
		if len(got()) != 1 || got()[0].content != "b" || got()[0].at != 250*time.Millisecond {
			t.Errorf("delivered %v, want b once at 250ms", got())
		}
		f.write("b") // touched, or written again with the same content
		after(time.Minute)
		if len(got()) != 1 {
			t.Errorf("the same bytes were delivered again: %v", got())
		}
	})
}

func TestEveryChangeIsTakenWithinHalfASecondUnderTenWritesASecond(t *testing.T) {
	for _, tc := range []struct {
		name    string
		notices chan struct{}
	}{
		{"with notices of the system", make(chan struct{}, 1)},
		{"by polling alone", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &memoryFile{content: "a", notices: tc.notices}
			watched(t, f, func(_ *Watcher, got func() []delivery) {
				wrote := map[string]time.Duration{}
				begin := time.Now()
				for i := range 50 {
					content := fmt.Sprint("version ", i)
					wrote[content] = time.Since(begin)
					f.write(content)
					after(100 * time.Millisecond)
				}
				after(time.Second)
				if last := got()[len(got())-1]; last.content != "version 49" {
					t.Errorf("the last delivery is %q", last.content)
				}
				// What was written since the delivery before is taken by this one.
				oldest := time.Duration(0)
				for _, d := range got() {
					if age := d.at - oldest; age > 500*time.Millisecond {
						t.Errorf("a change waited %v for the delivery of %q", age, d.content)
					}
					oldest = wrote[d.content] + 100*time.Millisecond
				}
				if len(got()) < 10 {
					t.Errorf("%d deliveries in 5 s", len(got()))
				}
			})
		})
	}
}

func TestReloadDeliversAtOnceEvenTheSameBytes(t *testing.T) {
	f := &memoryFile{content: "a"}
	watched(t, f, func(w *Watcher, got func() []delivery) {
		w.Reload()
		synctest.Wait()
		if len(got()) != 1 || got()[0].content != "a" || got()[0].at != 0 {
			t.Fatalf("delivered %v", got())
		}
		for range 10 { // none of them may block
			w.Reload()
		}
		f.write("b")
		w.Reload()
		after(time.Minute)
		if last := got()[len(got())-1]; last.content != "b" {
			t.Errorf("the last delivery is %q", last.content)
		}
	})
}

func TestFileThatIsGoneIsOneErrorAndDeliveredWhenItIsBack(t *testing.T) {
	f := &memoryFile{content: "a"}
	watched(t, f, func(_ *Watcher, got func() []delivery) {
		f.set("", errors.New("no such file"))
		after(time.Minute)
		if len(got()) != 1 || got()[0].err == nil {
			t.Fatalf("delivered %v, want one error", got())
		}
		f.write("a")
		after(time.Minute)
		if len(got()) != 2 || got()[1].content != "a" {
			t.Errorf("delivered %v, want the same bytes again after the error", got())
		}
	})
}

func TestChangeThatKeepsSizeAndTimeIsFoundByItsContent(t *testing.T) {
	f := &memoryFile{content: "a", sameStat: true}
	watched(t, f, func(_ *Watcher, got func() []delivery) {
		f.write("b")
		after(6 * time.Second)
		if len(got()) != 1 || got()[0].content != "b" {
			t.Errorf("delivered %v", got())
		}
	})
}

func TestBytesThatRunAlreadyAreNoNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hashOfA = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
		w := NewWatcher("config.toml", hashOfA)
		w.read = func() ([]byte, error) { return []byte("a"), nil }
		w.stat = func() fileState { return fileState{} }
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		w.loop(ctx, nil, func(data []byte, err error) { t.Errorf("delivered %q, %v", data, err) })
	})
}
