package gateway

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// waiting is a handler that waits until its client is gone or the test lets it go.
type waiting struct {
	begun chan struct{}
	leave chan struct{}
	ended chan string
}

func newWaiting() *waiting {
	return &waiting{begun: make(chan struct{}, 10), leave: make(chan struct{}, 10), ended: make(chan string, 10)}
}

func (w *waiting) handle(ctx *fasthttp.RequestCtx) {
	gone := watchHangup(ctx.Conn())
	w.begun <- struct{}{}
	select {
	case <-gone:
		w.ended <- "gone"
	case <-w.leave:
		w.ended <- "served"
	}
}

const get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

// onBoth runs a test over loopback sockets and over in-memory connections, which are watched in different ways.
func onBoth(t *testing.T, f func(t *testing.T, start func(fasthttp.RequestHandler) *edgeTest)) {
	t.Run("socket", func(t *testing.T) {
		f(t, func(h fasthttp.RequestHandler) *edgeTest { return startSocketEdge(t, edgeConfig(), h) })
	})
	t.Run("memory", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f(t, func(h fasthttp.RequestHandler) *edgeTest { return startEdge(t, edgeConfig(), h) })
		})
	})
}

func expect(t *testing.T, w *waiting, want string) {
	t.Helper()
	select {
	case got := <-w.ended:
		if got != want {
			t.Fatalf("ended %s, want %s", got, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("did not end; want %s", want)
	}
}

func TestAWaitingRequestSeesItsClientHangUp(t *testing.T) {
	onBoth(t, func(t *testing.T, start func(fasthttp.RequestHandler) *edgeTest) {
		w := newWaiting()
		e := start(w.handle)
		for range 3 {
			cl := e.connect().send(get)
			<-w.begun
			cl.c.Close()
			expect(t, w, "gone")
		}
	})
}

func TestAClientThatIsThereIsServedAndItsConnectionGoesOn(t *testing.T) {
	onBoth(t, func(t *testing.T, start func(fasthttp.RequestHandler) *edgeTest) {
		w := newWaiting()
		e := start(w.handle)
		cl := e.connect()
		for range 3 {
			cl.send(get)
			<-w.begun
			w.leave <- struct{}{}
			expect(t, w, "served")
			cl.answer().says(t, 200, "")
		}
		cl.send(get)
		<-w.begun
		cl.c.Close()
		expect(t, w, "gone")
	})
}

func TestPipelinedBytesAreNoHangUpAndAreNotLost(t *testing.T) {
	onBoth(t, func(t *testing.T, start func(fasthttp.RequestHandler) *edgeTest) {
		w := newWaiting()
		e := start(w.handle)
		cl := e.connect().send(get)
		<-w.begun
		cl.send(get + get[:5]) // comes while the first waits
		time.Sleep(20 * time.Millisecond)
		select {
		case got := <-w.ended:
			t.Fatalf("ended %s", got)
		default:
		}
		w.leave <- struct{}{}
		cl.answer().says(t, 200, "")
		<-w.begun
		cl.send(get[5:])
		w.leave <- struct{}{}
		cl.answer().says(t, 200, "")
		<-w.begun
		w.leave <- struct{}{}
		cl.answer().says(t, 200, "")
	})
}

func TestAResetAndAHalfCloseAreHangUps(t *testing.T) {
	for name, leave := range map[string]func(*net.TCPConn){
		"reset":      func(c *net.TCPConn) { c.SetLinger(0); c.Close() },
		"half close": func(c *net.TCPConn) { c.CloseWrite() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWaiting()
			e := startSocketEdge(t, edgeConfig(), w.handle)
			cl := e.connect().send(get)
			<-w.begun
			leave(cl.c.(*net.TCPConn))
			expect(t, w, "gone")
		})
	}
}

func TestAHangUpBehindUnreadBytesIsSeenOnASocket(t *testing.T) {
	for name, sent := range map[string]string{"body": post(100_000) + "some of it", "request": get + get} {
		t.Run(name, func(t *testing.T) {
			w := newWaiting()
			e := startSocketEdge(t, edgeConfig(), w.handle)
			cl := e.connect().send(sent)
			<-w.begun
			cl.send("and more")
			cl.c.Close()
			expect(t, w, "gone")
		})
	}
}

func TestAClientThatLeftBeforeItsRequestWaitedIsGone(t *testing.T) {
	onBoth(t, func(t *testing.T, start func(fasthttp.RequestHandler) *edgeTest) {
		w := newWaiting()
		left := make(chan struct{})
		e := start(func(ctx *fasthttp.RequestCtx) {
			<-left
			w.handle(ctx)
		})
		cl := e.connect().send(get)
		time.Sleep(10 * time.Millisecond)
		cl.c.Close()
		time.Sleep(10 * time.Millisecond)
		close(left)
		expect(t, w, "gone")
	})
}

func TestBytesReadWhileWaitingBelongToTheBody(t *testing.T) {
	onBoth(t, func(t *testing.T, start func(fasthttp.RequestHandler) *edgeTest) {
		limits := limitsOf(edgeConfig())
		begun := make(chan struct{})
		e := start(func(ctx *fasthttp.RequestCtx) {
			watchHangup(ctx.Conn())
			begun <- struct{}{}
			time.Sleep(10 * time.Millisecond)
			echo(limits)(ctx)
		})
		cl := e.connect().send(post(6))
		<-begun
		cl.send("abc")
		time.Sleep(20 * time.Millisecond)
		cl.send("def").answer().says(t, 200, "abcdef")
		cl.send(postChunked)
		<-begun
		cl.send("3\r\nabc\r\n0\r\n\r\n").answer().says(t, 200, "abc")
	})
}

func TestAnIdleConnectionThatWaitedOnceIsStillClosedAfterIdleTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWaiting()
		e := startEdge(t, edgeConfig(), w.handle)
		cl := e.connect().send(get)
		<-w.begun
		time.Sleep(5 * time.Minute) // much longer than any deadline of the connection
		w.leave <- struct{}{}
		expect(t, w, "served")
		cl.answer().says(t, 200, "")
		begun := time.Now()
		cl.closed()
		if took := time.Since(begun); took < 75*time.Second || took > 85*time.Second {
			t.Errorf("closed after %v, want idle_timeout", took)
		}
	})
}

// Hang-up, grant and time-out in the same moment: whatever the handler takes it for, the watch
// neither panics nor is lost, and the other connections are not touched.
func TestHangUpAndGrantMayComeInTheSameMoment(t *testing.T) {
	var gone, granted atomic.Int64
	grant := make(chan struct{})
	begun, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	e := startSocketEdge(t, edgeConfig(), func(ctx *fasthttp.RequestCtx) {
		hung := watchHangup(ctx.Conn())
		begun <- struct{}{}
		select {
		case <-hung:
			gone.Add(1)
			<-grant
		case <-grant:
			granted.Add(1)
		}
		ended <- struct{}{}
	})
	bystander := e.connect()
	for i := range 300 {
		cl := e.connect().send(get)
		<-begun
		go cl.c.Close()
		if i%3 == 0 {
			time.Sleep(time.Duration(i) * time.Microsecond)
		}
		grant <- struct{}{}
		<-ended
	}
	bystander.send(get)
	<-begun
	grant <- struct{}{}
	<-ended
	bystander.answer().says(t, 200, "")
	if n := gone.Load() + granted.Load(); n != 301 {
		t.Errorf("%d ends of 301", n)
	}
}

func TestClosedConnectionsLeaveNoWatchBehind(t *testing.T) {
	w := newWaiting()
	e := startSocketEdge(t, edgeConfig(), w.handle)
	before := watchedSockets()
	for range 20 {
		cl := e.connect().send(get)
		<-w.begun
		w.leave <- struct{}{}
		expect(t, w, "served")
		cl.answer()
		cl.c.Close()
	}
	for range 100 {
		if watchedSockets() <= before && // below: earlier tests' were still closing
			e.edge.connections() == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d watched, %d before; %d connections open", watchedSockets(), before, e.edge.connections())
}

func BenchmarkWatch(b *testing.B) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	dialled, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer dialled.Close()
	accepted, err := ln.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer accepted.Close()
	b.Run("first, and dropped", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c := &clientConn{Conn: accepted}
			watchHangup(c)
			dropSocket(c)
		}
	})
	b.Run("again", func(b *testing.B) {
		c := &clientConn{Conn: accepted}
		defer dropSocket(c)
		b.ReportAllocs()
		for b.Loop() {
			watchHangup(c)
		}
	})
}
