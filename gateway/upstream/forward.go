package upstream

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/valyala/fasthttp"
)

// lastWord is how long a target that takes no more of a request is still listened to: it may have
// answered before it stopped to read.
const lastWord = time.Second

var (
	errHalted   = errors.New("the target answered before it had read the request")
	errConnect  = errors.New("the method CONNECT is not forwarded")
	errRefused  = errors.New("no target took a connection")
	errInterim  = errors.New("unexpected interim answer")
	errTooLong  = errors.New("an answer of unknown length does not fit the answer buffer, and the client takes no chunks")
	errBodySlow = errors.New("the request body came slower than it may")
	errBodyEnd  = errors.New("the request body ended early")
)

// call is one request on its way. It lives on the stack of Forward.
type call struct {
	f       *fleet
	ctx     *fasthttp.RequestCtx
	x       Exchange
	t       *target
	head    *Head
	size    int       // of the body; below 0: chunks
	body    []byte    // in memory, or
	stream  io.Reader // still to come
	http11  bool      // the client takes chunks
	safe    bool      // sending it twice does no harm
	plainly Result    // of a plain answer that has been passed on; its Status is 0 otherwise
}

// Forward sends the request of ctx to a target and the answer to ctx.Response. Header lines go out as
// they came in, but for what ends at this hop and what head drops and adds; method and request target
// are those of ctx.Request.Header, so they may be rewritten there before.
//
// With answered, ctx.Response holds the target's answer, and headers may be added to it; what was set
// before is gone. A plain answer that x has taken is not there: of it only the status is. Without,
// ctx.Response has neither headers nor body, and the caller writes what the Result says. x has been told
// SeatDone then, and Finished.
func (u *Upstream) Forward(ctx *fasthttp.RequestCtx, x Exchange, head *Head) (res Result, answered bool) {
	h := &ctx.Request.Header
	k := call{
		f: u.fleet.Load(), ctx: ctx, x: x, head: head,
		http11: h.IsHTTP11(),
		safe:   h.IsGet() || h.IsHead() || h.IsOptions() || h.IsTrace(),
	}
	if ctx.Request.IsBodyStream() {
		k.stream = ctx.Request.BodyStream()
		k.size = h.ContentLength()
	} else {
		k.body = ctx.Request.Body()
		k.size = len(k.body)
	}
	at := k.f.pick()
	k.t = k.f.targets[at]
	if h.IsConnect() {
		return k.fail(Result{Outcome: UpstreamError, Reason: ReasonProtocol, Err: errConnect}), false
	}
	return k.attempts(at)
}

// attempts asks one target after the other until one answers, or asking again is not allowed.
func (k *call) attempts(at int) (Result, bool) {
	n := len(k.f.targets)
	retries, refused, fresh := k.f.retries, 0, false
	for {
		k.t = k.f.targets[at]
		k.t.inFlight.Add(1)
		began := now()
		// What cannot be sent twice goes only on a connection that was just seen alive.
		c, err := k.t.take(fresh, !k.safe || k.stream != nil, began, k.f.connect)
		if err != nil {
			k.t.inFlight.Add(-1)
			k.t.works(false)
			k.f.failed(k.t, ReasonDial)
			if refused++; refused == n {
				return k.fail(Result{Outcome: NoUpstream, Reason: ReasonDial, Err: fmt.Errorf("%w: %w", errRefused, err)}), false
			}
			at = (at + 1) % n
			continue
		}
		if !c.reused {
			began = now() // connecting took its time
		}
		c.begin(began, k.f.timeout, k.f.stall)
		if err = k.roundTrip(c); err == nil {
			if k.plainly.Status != 0 {
				return k.plainly, true
			}
			k.t.works(true)
			return k.answer(c)
		}
		res := c.verdict(err)
		dead := c.reused && c.seen == 0 && res.Reason == ReasonReset
		again := retries > 0 && c.seen == 0 && res.Reason == ReasonReset && !c.partial &&
			(k.safe && k.stream == nil || c.wrote == 0)
		c.close()
		k.t.inFlight.Add(-1)
		if dead {
			k.t.dropIdle()
		} else if res.Outcome != BodyError {
			k.t.works(false)
		}
		if res.Outcome != BodyError {
			k.f.failed(k.t, res.Reason)
		}
		if !again {
			return k.fail(res), false
		}
		retries--
		fresh, at = true, (at+1)%n
	}
}

// roundTrip sends the request and reads the head of the answer.
func (k *call) roundTrip(c *conn) error {
	if k.stream != nil {
		return k.sendStream(c)
	}
	// The room is given back before the answer is waited for: then the few that are needed stay warm.
	w := wires.Get().(*wire)
	w.build(k.ctx, k.size, k.head, k.t.authority)
	separate := len(k.body) > blockSize
	if !separate {
		w.head = append(w.head, k.body...)
	}
	_, err := c.Write(w.head)
	w.release()
	if err == nil && separate {
		_, err = c.Write(k.body)
	}
	if err != nil {
		return k.lastWord(c, err)
	}
	if done, err := k.plain(c); done || err != nil {
		return err
	}
	return readHead(c, &k.ctx.Response)
}

// lastWord looks for an answer after sending has failed with err, and gives err back if there is none.
func (k *call) lastWord(c *conn, err error) error {
	if c.wrote == 0 || isTimeout(err) {
		return err
	}
	c.partial = true
	c.readBy.Store(int64(now().after(min(lastWord, k.f.timeout))))
	if readHead(c, &k.ctx.Response) != nil {
		c.readErr = nil
		return err
	}
	return nil
}

// readHead reads up to the body of the final answer; interim ones are dropped.
func readHead(c *conn, resp *fasthttp.Response) error {
	const maxInterim = 32
	for range maxInterim {
		if err := resp.Header.Read(c.br); err != nil {
			return err
		}
		switch code := resp.StatusCode(); {
		case code >= 200:
			return nil
		case code < 100 || code == fasthttp.StatusSwitchingProtocols:
			return errInterim
		}
		c.begun = false // the answer proper is still to come, within the timeout
	}
	return errInterim
}

// fail ends the request without an answer. k.t has been left already.
func (k *call) fail(res Result) Result {
	res.Target = k.t.url
	blank(&k.ctx.Response)
	k.x.SeatDone(res)
	k.x.Finished(res)
	return res
}

// verdict says what err, which ended a request on c, means.
func (c *conn) verdict(err error) Result {
	res := Result{Outcome: UpstreamError, Reason: ReasonProtocol, Err: err}
	switch {
	case errors.Is(err, errBodySlow):
		res.Outcome, res.Reason = BodyError, ReasonBodySlow
	case errors.Is(err, errBodyEnd):
		res.Outcome, res.Reason = BodyError, ReasonBodyBroken
	case c.readErr != nil:
		res.Err = c.readErr
		if isTimeout(c.readErr) {
			res.Outcome, res.Reason = UpstreamTimeout, ReasonStall
			if c.seen == 0 {
				res.Reason = ReasonTimeout
			}
		} else {
			res.Reason = ReasonReset
		}
	case isTimeout(err):
		res.Outcome, res.Reason = UpstreamTimeout, ReasonStall
	case c.seen == 0:
		res.Reason = ReasonReset // sending failed
	}
	return res
}
