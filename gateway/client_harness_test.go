package gateway

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// reply is what a client got.
type reply struct {
	status int
	header http.Header
	body   string
	took   time.Duration
	err    error
}

// code is the code of a refusal.
func (a reply) code() string {
	var p struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal([]byte(a.body), &p)
	return p.Code
}

func (a reply) member(name string) any {
	var p map[string]any
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		return nil
	}
	return p[name]
}

// visitor is one connection.
type visitor struct {
	w    *world
	conn net.Conn
	br   *bufio.Reader
}

func (w *world) client() *visitor {
	c, err := w.front.Dial()
	if err != nil {
		w.t.Fatal(err)
	}
	return &visitor{w: w, conn: c, br: bufio.NewReader(c)}
}

// send writes a request: a method and path, then headers "K: V", then perhaps a body after "".
func (c *visitor) send(request string, lines ...string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s HTTP/1.1\r\nHost: api.example\r\n", request)
	body := ""
	for i, l := range lines {
		if l == "" {
			body = strings.Join(lines[i+1:], "\n")
			fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
			break
		}
		b.WriteString(l + "\r\n")
	}
	b.WriteString("\r\n" + body)
	if _, err := io.WriteString(c.conn, b.String()); err != nil {
		c.w.t.Error(err)
	}
}

func (c *visitor) receive(method string) (a reply) {
	start := time.Now()
	resp, err := http.ReadResponse(c.br, &http.Request{Method: method})
	if err != nil {
		return reply{err: err, took: time.Since(start)}
	}
	b, err := io.ReadAll(resp.Body)
	return reply{status: resp.StatusCode, header: resp.Header, body: string(b), err: err, took: time.Since(start)}
}

func (c *visitor) do(request string, lines ...string) reply {
	c.send(request, lines...)
	method, _, _ := strings.Cut(request, " ")
	return c.receive(method)
}

// do sends one request on a connection of its own.
func (w *world) do(request string, lines ...string) reply {
	c := w.client()
	defer c.conn.Close()
	return c.do(request, lines...)
}

// gather sends requests at once and returns all answers.
func (w *world) gather(n int, request string, lines ...string) []reply {
	answers := make([]reply, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { answers[i] = w.do(request, lines...) })
	}
	wg.Wait()
	return answers
}
