package console

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"tidegate/gateway/config"
)

// overConnections runs a test with a console that answers on a listener in memory, in virtual time: a busy
// machine cannot make its timeouts act.
func overConnections(t *testing.T, test func(t *testing.T, d *desk, dial func() *line), tokens ...config.Token) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk("127.0.0.1:8081", tokens...)
		ln := fasthttputil.NewInmemoryListener()
		served := make(chan error, 1)
		go func() { served <- d.Serve(ln) }()
		t.Cleanup(func() {
			if err := d.Shutdown(); err != nil {
				t.Errorf("shutdown: %v", err)
			}
			if err := <-served; err != nil {
				t.Errorf("serve: %v", err)
			}
			time.Sleep(time.Minute) // the library's workers end
		})
		test(t, d, func() *line {
			conn, err := ln.Dial()
			if err != nil {
				panic(err)
			}
			if err := conn.SetReadDeadline(time.Now().Add(time.Hour)); err != nil { // nobody waits for ever
				panic(err)
			}
			l := newLine(conn)
			t.Cleanup(func() { l.Close() })
			return l
		})
		synctest.Wait()
		d.bodies.idle(t)
	})
}

// state is what is free and how many wait.
func (m *bodyMemory) state() (free, waiting int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.free, len(m.waiting)
}

// idle checks that all memory of bodies was given back.
func (m *bodyMemory) idle(t *testing.T) {
	t.Helper()
	if free, waiting := m.state(); free != maxBodies || waiting != 0 {
		t.Errorf("%d bytes of bodies are still held, %d wait", maxBodies-free, waiting)
	}
}

// line is a client's connection.
type line struct {
	net.Conn
	r *bufio.Reader
}

func (l *line) send(parts ...string) *line {
	for _, p := range parts {
		if _, err := io.WriteString(l, p); err != nil {
			break // the other end has heard enough; what it says is read all the same
		}
	}
	return l
}

// answer is the status and the code of the next answer, and its header and body.
func (l *line) answer() (status string, a *fasthttp.Response) {
	a = &fasthttp.Response{}
	if err := a.Read(l.r); err != nil {
		return "no answer: " + err.Error(), a
	}
	status = fmt.Sprint(a.StatusCode())
	var p problem
	if json.Unmarshal(a.Body(), &p) == nil && p.Code != "" {
		status += " " + p.Code
	}
	return status, a
}

func newLine(conn net.Conn) *line { return &line{Conn: conn, r: bufio.NewReader(conn)} }

func requestHead(method, path string, fields ...string) string {
	return method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + strings.Join(append(fields, "", ""), "\r\n")
}
