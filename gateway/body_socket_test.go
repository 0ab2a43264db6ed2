package gateway

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// heap is what the process holds.
func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// highest is the highest value that is seen, looking often, until stop is called.
func highest(look func() int64) (stop func() int64) {
	end, top := make(chan struct{}), make(chan int64)
	go func() {
		most := int64(0)
		for {
			most = max(most, look())
			select {
			case <-end:
				top <- most
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return func() int64 {
		close(end)
		return <-top
	}
}

// flood is many requests with a body at once while nobody is served, and what became of them.
type flood struct {
	w                       *socketWorld
	serve                   chan struct{}
	all                     sync.WaitGroup
	served, refused, others atomic.Int64
}

// newFlood starts a gateway whose two seats are taken.
func newFlood(t *testing.T, text string, size int) *flood {
	f := &flood{serve: make(chan struct{})}
	var arrived atomic.Int64
	f.w = newSocketWorld(t, text, func(ctx *fasthttp.RequestCtx) {
		if n, err := io.Copy(io.Discard, ctx.RequestBodyStream()); n != int64(size) {
			t.Errorf("a body of %d bytes, %v; want %d", n, err, size)
		}
		arrived.Add(1)
		<-f.serve
	})
	for range 2 {
		f.all.Go(func() {
			if a := f.w.do("POST /v1/chat/x", "X-API-Key: ann", "", strings.Repeat("x", size)); a.status != 200 {
				t.Errorf("who held a seat: %d %s %v", a.status, a.body, a.err)
			}
		})
	}
	until(t, "both seats to be taken", func() bool { return arrived.Load() == 2 })
	return f
}

// send sends bodies, all of one memory, so that what grows is the gateway's. It returns when each request waits or
// has been answered.
func (f *flood) send(clients, size int) {
	t := f.w.t
	t.Helper()
	body := bytes.Repeat([]byte("x"), size)
	head := fmt.Appendf(nil, "POST /v1/chat/x HTTP/1.1\r\nHost: a\r\nX-API-Key: bob\r\nContent-Length: %d\r\n\r\n", size)
	begun := make(chan struct{}, 200) // on their way to wait or to be refused
	done := func() int64 { return f.served.Load() + f.refused.Load() + f.others.Load() }
	before := done()
	for range clients {
		begun <- struct{}{}
		f.all.Go(func() {
			c, err := f.w.connect()
			if err != nil {
				f.others.Add(1)
				t.Error(err)
				return
			}
			defer c.conn.Close()
			sent := make(chan struct{})
			go func() { // what the gateway does not read stays here
				defer close(sent)
				_, _ = c.conn.Write(head)
				<-begun
				_, _ = c.conn.Write(body)
			}()
			switch a := c.receive("POST"); {
			case a.status == 200:
				f.served.Add(1)
			case a.code() == "queue_full":
				f.refused.Add(1)
			default:
				f.others.Add(1)
				t.Errorf("%d %s %v", a.status, a.body, a.err)
			}
			_ = c.conn.Close()
			<-sent
		})
	}
	until(t, "each to wait or to be answered", func() bool {
		return int(done()-before)+f.w.snapshot().Pools[0].Waiting == clients
	})
}

// end serves all that wait.
func (f *flood) end() {
	close(f.serve)
	f.all.Wait()
	f.w.idle()
}

// floodText is basic with a pool that may hold bytes, for one caller, and places that are more than enough.
func floodText(t *testing.T, server, bytes string) string {
	return "[server]\nmin_body_rate = \"0\"\n" + server + changed(t, basic,
		`rate = "100/s"`, `rate = "100000/s"`, `max_wait = "2s"`, `max_wait = "24h"`, `timeout = "10s"`, `timeout = "60s"`, `access = "all"`, `access = "off"`,
		"seats = 2", "seats = 2\nmax_waiting = 20000\nlong_ceiling = 1.0\nmax_flow_share = 1.0\nmax_waiting_bytes = \""+bytes+"\"")
}

// Five thousand bodies arrive while nobody is served. They are to those of 1 MB before the default bounds (256 MiB of
// waiting bytes, 512 MiB of bodies, 20,000 places) what a tenth is: 100 kB before 26 MiB and 52 MiB, and as many
// places as before, so that no count can be what stops them. Together they would be 500 MB.
func TestWaitingBodiesMeetTheBoundOfBytesBeforeAnyOther(t *testing.T) {
	const size = 100_000
	clients := 5000
	if raceEnabled {
		clients = 1500 // the detector makes each connection dear
	}
	const waitingBytes, bodyMemory = 26 << 20, 52 << 20
	f := newFlood(t, floodText(t, "body_buffer = \"128KiB\"\nmax_body_memory = \"52MiB\"\n", "26MiB"), size)
	w := f.w
	before := heap()
	held := highest(func() int64 { return w.g.bodies.held.Load() })
	queued := highest(func() int64 { return w.g.gauges().QueueBytes })
	memory := highest(func() int64 { return int64(heap()) })
	f.send(clients, size)
	mostHeld, mostQueued, grown := held(), queued(), memory()-int64(before)
	waiting := w.snapshot().Pools[0].Waiting
	t.Logf("%d wait, %d were refused; at most %d kB held, %d kB queued; the process grew by %d kB",
		waiting, f.refused.Load(), mostHeld>>10, mostQueued>>10, grown>>10)
	if mostHeld > bodyMemory || mostQueued > waitingBytes {
		t.Errorf("%d bytes held, %d queued; want at most %d, %d", mostHeld, mostQueued, bodyMemory, waitingBytes)
	}
	if grown > int64(clients)*size/2 && !raceEnabled {
		t.Errorf("the process grew by %d bytes, with %d sent", grown, clients*size)
	}
	// Each holds 128 KiB, which a body of 100 kB takes, and what a request holds besides.
	if want := waitingBytes / (128<<10 + requestOverhead); waiting != want {
		t.Errorf("%d wait, want %d", waiting, want)
	}
	// Who comes now is told so by the header alone.
	c := w.client()
	defer c.conn.Close()
	c.send("POST /v1/chat/x", "X-API-Key: bob", fmt.Sprint("Content-Length: ", size))
	if a := c.receive("POST"); a.code() != "queue_full" {
		t.Errorf("before its body is read: %d %s", a.status, a.body)
	}
	f.end()
	if n := int(f.served.Load()); n != waiting || int(f.refused.Load()) != clients-waiting {
		t.Errorf("%d served and %d refused, want %d and %d", n, f.refused.Load(), waiting, clients-waiting)
	}
	if n := w.metric(`tidegate_refusals_total{code="queue_full",semantic="chat"}`); int(n) != clients-waiting+1 {
		t.Errorf("%v refusals counted, want %d", n, clients-waiting+1)
	}
}

// Larger ones than body_buffer wait at the client: the gateway holds nothing of them, so there is room for all.
func TestLargeBodiesWaitAtTheClient(t *testing.T) {
	const size = 200_000
	clients := 1000
	if raceEnabled {
		clients = 300
	}
	f := newFlood(t, floodText(t, "body_buffer = \"64KiB\"\nmax_body_memory = \"128KiB\"\n", "9MiB"), size)
	w := f.w
	before := heap()
	held := highest(func() int64 { return w.g.bodies.held.Load() })
	memory := highest(func() int64 { return int64(heap()) })
	f.send(clients, size)
	if n := w.snapshot().Pools[0].Waiting; n != clients {
		t.Errorf("%d wait, want all %d", n, clients)
	}
	grown := memory() - int64(before)
	t.Logf("the process grew by %d kB, with %d kB to come", grown>>10, clients*size>>10)
	if grown > int64(clients)*size/2 && !raceEnabled {
		t.Errorf("the process grew by %d bytes", grown)
	}
	f.end()
	if n := held(); n != 0 {
		t.Errorf("%d bytes of bodies were held", n)
	}
	if n := int(f.served.Load()); n != clients {
		t.Errorf("%d served, want %d", n, clients)
	}
}
