package gateway

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
	"go.uber.org/zap"
)

// These follow a real file in real time. They wait for what is to happen; the bound only ends a test that
// has failed.
const fileBound = 20 * time.Second

// followed is a gateway that follows a config file.
type followed struct {
	t    *testing.T
	g    *Gateway
	path string
}

// follow runs a gateway on a file with the given text.
func follow(t *testing.T, text string) *followed {
	t.Helper()
	f := &followed{t: t, path: filepath.Join(t.TempDir(), "config.toml")}
	f.write(text)
	var err error
	f.g, err = New(configOf(t, text), Options{
		Path: f.path, Version: "test", NoDate: true, Log: zap.NewNop(),
		Listen: func(string) (net.Listener, error) { return fasthttputil.NewInmemoryListener(), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.g.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *followed) write(text string) {
	f.t.Helper()
	if err := os.WriteFile(f.path, []byte(hashed(text)), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// until waits for something, looking often.
func (f *followed) until(what string, is func() bool) (took time.Duration) {
	f.t.Helper()
	start := time.Now()
	for !is() {
		if time.Since(start) > fileBound {
			f.t.Fatalf("%s: not within %v", what, fileBound)
		}
		time.Sleep(2 * time.Millisecond)
	}
	return time.Since(start)
}

// seats is the number in force for the first pool.
func (f *followed) seats() int { return f.g.live.Load().config.Pools[0].Seats.N }

func (f *followed) error() string { return f.g.loadError.Load().(string) }

// withSeats is basic with another number of seats.
func withSeats(t *testing.T, n int) string {
	return changed(t, basic, "seats = 2", fmt.Sprintf("seats = %d", n))
}

func TestAChangedFileIsTakenByItself(t *testing.T) {
	f := follow(t, basic)
	took := f.until("a change", func() bool {
		if f.seats() == 2 {
			f.write(withSeats(t, 20)) // over and over: the watch may not be set up yet
		}
		return f.seats() == 20
	})
	t.Logf("the first after %v", took)
	f.write(withSeats(t, 21))
	t.Logf("the next after %v", f.until("another", func() bool { return f.seats() == 21 }))

	f.write(basic[:len(basic)/2])
	f.until("half of a file", func() bool { return f.error() != "" })
	if f.seats() != 21 {
		t.Errorf("a bad file was taken: %d seats", f.seats())
	}
	if err := os.Remove(f.path); err != nil {
		t.Fatal(err)
	}
	f.until("no file", func() bool { return strings.Contains(f.error(), "no such file") && f.seats() == 21 })
	f.write(withSeats(t, 22))
	f.until("a file again", func() bool { return f.seats() == 22 && f.error() == "" })
}

// A file that is never left alone for long must not be put off until it is.
func TestAFileThatIsWrittenAllTheTimeIsTakenMeanwhile(t *testing.T) {
	f := follow(t, basic)
	written := 0
	seen := map[int]int{} // what was in force: how many writes it lagged behind
	for written < 200 && len(seen) < 6 {
		written++
		f.write(withSeats(t, 100+written))
		time.Sleep(100 * time.Millisecond)
		if n := f.seats() - 100; n > 0 {
			if _, ok := seen[n]; !ok {
				seen[n] = written - n
			}
		}
	}
	if len(seen) < 6 {
		t.Fatalf("of %d writes, ten a second, only %v came into force meanwhile", written, seen)
	}
	behind := 0
	for _, lag := range seen {
		behind += lag
	}
	t.Logf("%d writes, %d times in force, on average %d ms behind", written, len(seen), 100*behind/len(seen))
	f.until("the last one", func() bool { return f.seats() == 100+written })
}

func TestSIGHUPReadsTheFileAgain(t *testing.T) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP) // whoever is not listening yet must not be ended by it
	defer signal.Stop(caught)
	f := follow(t, basic)
	loads := func() uint64 { return f.g.telemetry.reloadsOK.Get() }
	before := loads()
	f.until("a signal", func() bool {
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
		return loads() > before
	})
	if v := f.g.live.Load().version; v != 1 {
		t.Errorf("the same file is version %d", v)
	}
}
