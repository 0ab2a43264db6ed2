package console

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/config"
)

const (
	maxBody       = 64 << 10               // bytes of a write's body
	maxConfigBody = config.MaxFile + 1<<20 // bytes of a config file in JSON, which escapes some of its bytes
	maxBodies     = 32 << 20               // bytes of all configs that are held at one time
	maxSmall      = 4 << 20                // bytes of all other bodies: to pause a caller must not wait for slow configs
	bodyTimeout   = 30 * time.Second       // for a whole body, from when there is memory for it
)

// bodyMemory is the budget of all bodies that are held: however many connections write, they wait for
// their turn and take no more than this. They are served in the order in which they came. Safe for
// concurrent use.
type bodyMemory struct {
	mu      sync.Mutex
	free    int
	waiting []*bodyClaim
}

type bodyClaim struct {
	bytes   int
	granted chan struct{}
}

// take waits for n bytes, at most the whole budget.
func (m *bodyMemory) take(n int) {
	m.mu.Lock()
	if n <= m.free && len(m.waiting) == 0 {
		m.free -= n
		m.mu.Unlock()
		return
	}
	claim := &bodyClaim{bytes: n, granted: make(chan struct{})}
	m.waiting = append(m.waiting, claim)
	m.mu.Unlock()
	<-claim.granted
}

func (m *bodyMemory) give(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free += n
	for len(m.waiting) > 0 && m.waiting[0].bytes <= m.free {
		m.free -= m.waiting[0].bytes
		close(m.waiting[0].granted)
		m.waiting = m.waiting[1:]
	}
}

// hasBody says whether a body comes with the request, without reading it.
func hasBody(ctx *fasthttp.RequestCtx) bool {
	if ctx.RequestBodyStream() == nil {
		return len(ctx.Request.Body()) > 0
	}
	return ctx.Request.Header.ContentLength() != 0
}

// readBody reads a body of at most limit bytes. Its memory is held until release is called, which must
// be done once, whatever came of it.
func (c *Console) readBody(ctx *fasthttp.RequestCtx, limit int) (body []byte, release func(), err error) {
	release = func() {}
	stream, declared := ctx.RequestBodyStream(), ctx.Request.Header.ContentLength()
	if stream == nil {
		body, declared = ctx.Request.Body(), len(ctx.Request.Body())
	}
	switch {
	case declared > limit:
		return nil, release, tooLarge(limit)
	case stream == nil || declared == 0:
		return body, release, nil
	}
	if limit > maxLogin {
		claimed := declared
		if declared < 0 {
			claimed = 2 * limit // chunks: while what is there grows, it is held twice
		}
		memory := &c.bodies
		if limit <= maxBody {
			memory = &c.small
		}
		memory.take(claimed)
		release = func() { memory.give(claimed) }
	}
	// The time in which the request had to come has gone on while there was no memory for it.
	if err := ctx.SetReadDeadline(time.Now().Add(bodyTimeout)); err != nil {
		return nil, release, bodyProblem(err)
	}
	if declared > 0 {
		body = make([]byte, declared)
		_, err = io.ReadFull(stream, body)
	} else {
		body, err = io.ReadAll(io.LimitReader(stream, int64(limit)+1))
	}
	switch {
	case err != nil:
		return nil, release, bodyProblem(err)
	case len(body) > limit:
		return nil, release, tooLarge(limit)
	}
	return body, release, nil
}

func bodyProblem(err error) error {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return problemBodySlow
	}
	return problemBodyBroken
}
