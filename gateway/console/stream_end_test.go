package console

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"

	"tidegate/gateway/config"
)

func TestAStreamEndsWithItsToken(t *testing.T) {
	overConnections(t, func(t *testing.T, d *desk, dial func() *line) {
		cookie, _, _ := d.logIn(t, "a")
		watch := func(field string) events {
			e := dial().watch(t, field)
			if _, err := e.next(); err != nil {
				t.Fatal(err)
			}
			return e
		}
		ends := func(name string, e events) { // at once
			t.Helper()
			for began := time.Now(); ; {
				_, err := e.next()
				if time.Since(began) > 0 {
					t.Fatalf("%s goes on: %v", name, err)
				}
				if err != nil {
					if err != io.EOF {
						t.Errorf("%s: %v", name, err)
					}
					return
				}
			}
		}
		goesOn := func(name string, e events) {
			t.Helper()
			for range 3 {
				if _, err := e.next(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
		}
		a, session, b := watch("Authorization: Bearer a"), watch(pair(cookie)), watch("Authorization: Bearer b")
		d.ask(write("DELETE", "/api/v1/session", asJSON, "", pair(cookie)))
		ends("a session that was logged out of", session)
		goesOn("its token", a)
		d.Update([]config.Token{tokenOf("b", "owner")})
		ends("a token that left", a)
		goesOn("a token that stayed, in another role", b)
		d.Update(nil)
		ends("a token where none is needed any more", b)
		open := watch("X-Nobody: in particular")
		d.Update([]config.Token{tokenOf("c", "viewer")})
		ends("nobody in particular, now that tokens are needed", open)
	}, tokenOf("a", "viewer"), tokenOf("b", "viewer"))
}

func TestAStreamEndsWithItsSession(t *testing.T) {
	overConnections(t, func(t *testing.T, d *desk, dial func() *line) {
		cookie, _, _ := d.logIn(t, "a")
		time.Sleep(sessionSpan - 10*time.Second)
		e := dial().watch(t, pair(cookie))
		told := 0
		for ; ; told++ {
			if _, err := e.next(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if told < 10 || told > 11 {
			t.Errorf("%d events in the last 10 s", told)
		}
	}, tokenOf("a", "viewer"))
}

func TestAStreamWithoutASnapshotKeepsOn(t *testing.T) {
	overConnections(t, func(t *testing.T, d *desk, dial func() *line) {
		d.snapshot = nil
		l := dial()
		e := l.watch(t)
		if got, err := e.next(); err != nil || got.event != "" || got.comment == "" {
			t.Errorf("%+v, %v", got, err)
		}
		d.under(func() { d.snapshot = busy() })
		if got, err := e.next(); err != nil || got.event != "snapshot" {
			t.Errorf("%+v, %v", got, err)
		}
		source := d.cache.source
		d.under(func() { d.cache.source = func() *Snapshot { panic("fault") } })
		if got, err := e.next(); err != nil || got.event != "" || got.comment == "" {
			t.Errorf("%+v, %v", got, err)
		}
		d.under(func() { d.cache.source = source })
		if got, err := e.next(); err != nil || got.event != "snapshot" {
			t.Errorf("%+v, %v", got, err)
		}
		if d.logged.FilterMessage("console_failed").Len() != 1 {
			t.Error("the fault was not logged")
		}
		l.Close()
		time.Sleep(2 * time.Second)
	})
}

func TestAShutdownEndsTheStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk("127.0.0.1:8081")
		ln := fasthttputil.NewInmemoryListener()
		served := make(chan error, 1)
		go func() { served <- d.Serve(ln) }()
		conn, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		l := newLine(conn)
		e := l.watch(t)
		if _, err := e.next(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := d.Shutdown(); err != nil || time.Since(began) > shutdownTimeout/2 {
			t.Errorf("shutdown: %v after %v", err, time.Since(began))
		}
		if _, err := e.next(); err != io.EOF {
			t.Errorf("the stream: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		if _, ok := d.streams.enter(visitor{}, nil); ok {
			t.Error("somebody is let in after the shutdown")
		}
		l.Close()
		time.Sleep(time.Minute)
	})
}

func TestAStreamNeedsPresentDayHTTP(t *testing.T) {
	overConnections(t, func(t *testing.T, d *desk, dial func() *line) {
		l := dial()
		if got, a := l.send("GET " + streamPath + " HTTP/1.0\r\nHost: localhost\r\n\r\n").answer(); got != "400 bad_request" || !strings.Contains(string(a.Body()), "proxy_http_version") {
			t.Errorf("%s %s", got, a.Body())
		}
	})
}
