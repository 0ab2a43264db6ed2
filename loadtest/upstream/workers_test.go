package upstream

import (
	"io"
	"log"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
)

func TestWorkersTakeWhoWaitsInOrderOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &workers{free: 2, backlog: 3}
		began := time.Now()
		var mu sync.Mutex
		begun := map[int]time.Duration{} // -1: turned away
		for i := range 7 {
			go func() {
				ok := w.enter()
				mu.Lock()
				begun[i] = -1
				if ok {
					begun[i] = time.Since(began)
				}
				mu.Unlock()
				if ok {
					time.Sleep(100 * time.Millisecond)
					w.leave()
				}
			}()
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		mu.Lock()
		defer mu.Unlock()
		// Two at once; 2 to 4 wait for the first, the second and again the first worker; 5 and 6 find the backlog full.
		want := []time.Duration{0, 1, 100, 101, 200, -1, -1}
		for i, ms := range want {
			if ms > 0 {
				ms *= time.Millisecond
			}
			if begun[i] != ms {
				t.Errorf("request %d begun at %v, want %v", i, begun[i], ms)
			}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.free != 2 || len(w.waiting) != 0 {
			t.Errorf("at the end %d are free, %d wait", w.free, len(w.waiting))
		}
	})
}

func TestAnUpstreamThatIsOverrunAnswers503AndWorksOnForWhoHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := fasthttputil.NewInmemoryListener()
		server := New(Options{Workers: 1, Backlog: 1})
		server.Logger = log.New(io.Discard, "", 0) // of the client that leaves
		go server.Serve(listener)
		ask := func(patience time.Duration) (status int, took time.Duration) {
			conn, err := listener.Dial()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			began := time.Now()
			client := &fasthttp.HostClient{Addr: "sample", Dial: func(string) (net.Conn, error) { return conn, nil }}
			request, answer := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			request.SetRequestURI("http://sample" + ExportPrefix + "x")
			if client.DoTimeout(request, answer, patience) != nil {
				return 0, time.Since(began)
			}
			return answer.StatusCode(), time.Since(began)
		}
		var wg sync.WaitGroup
		for i, want := range []struct {
			patience time.Duration
			status   int
			took     time.Duration
		}{
			{time.Minute, 200, ExportTime},
			{50 * time.Millisecond, 0, 50 * time.Millisecond}, // leaves, and keeps its place
			{time.Minute, 503, 0},
		} {
			wg.Go(func() {
				if status, took := ask(want.patience); status != want.status || took != want.took {
					t.Errorf("request %d: %d after %v, want %d after %v", i, status, took, want.status, want.took)
				}
			})
			time.Sleep(time.Microsecond)
		}
		time.Sleep(ExportTime)
		// The one that left is worked on now.
		if status, took := ask(time.Minute); status != 200 || took != 2*ExportTime-time.Microsecond*3 {
			t.Errorf("behind it: %d after %v", status, took)
		}
		wg.Wait()
		listener.Close()
		time.Sleep(10 * time.Minute)
	})
}
