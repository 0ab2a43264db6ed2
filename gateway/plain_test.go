package gateway

import (
	"bufio"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// rawTarget answers each request of a connection with the same bytes.
func (w *world) rawTarget(answer string) {
	go func() {
		for {
			c, err := w.target.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				br := bufio.NewReader(c)
				for {
					if _, err := http.ReadRequest(br); err != nil {
						return
					}
					w.calls.Add(1)
					if _, err := io.WriteString(c, answer); err != nil {
						return
					}
				}
			}()
		}
	}()
}

const dated = "HTTP/1.1 200 OK\r\nDate: Mon, 05 Jan 2026 09:00:00 GMT\r\n"

func TestAPlainAnswerIsPassedOnAsItCame(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, nil)
		w.rawTarget("HTTP/1.1 201 Made\r\nDate: Mon, 05 Jan 2026 09:00:00 GMT\r\nX-odd-CASE: a\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n" +
			"X-Request-Id: theirs\r\nRateLimit: \"theirs\";r=1\r\nratelimit-policy: \"theirs\";q=1\r\nConnection: keep-alive\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello")
		c := w.client()
		defer c.conn.Close()
		for range 3 { // the connection lives on
			c.send("GET /v1/chat/x", "X-API-Key: ann")
			var head []string
			for {
				line, err := c.br.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				if line == "\r\n" {
					break
				}
				head = append(head, strings.TrimSuffix(line, "\r\n"))
			}
			body := make([]byte, 5)
			if _, err := io.ReadFull(c.br, body); err != nil || string(body) != "hello" {
				t.Fatalf("%q %v", body, err)
			}
			for _, want := range []string{"HTTP/1.1 201 Made", "X-odd-CASE: a", "Set-Cookie: a=1", "Set-Cookie: b=2", "Date: Mon, 05 Jan 2026 09:00:00 GMT", "Content-Length: 5", `RateLimit-Policy: "semantic/chat";q=100;w=1`} {
				if !slices.Contains(head, want) {
					t.Errorf("no %q in %q", want, head)
				}
			}
			all := strings.Join(head, "\n")
			if strings.Contains(all, "theirs") || strings.Contains(all, "Connection") || strings.Count(strings.ToLower(all), "x-request-id:") != 1 || strings.Count(strings.ToLower(all), "content-length:") != 1 {
				t.Errorf("the gateway's own fields are not the only ones: %q", head)
			}
		}
		if lines := w.log.lines("access"); len(lines) != 3 || !strings.Contains(lines[0], `"status":201`) || !strings.Contains(lines[0], `"bytes":5`) {
			t.Errorf("%v", lines)
		}
		w.idle()
	})
}

// Whatever an answer looks like, plain or not, the client gets the same.
func TestPlainAndNotPlainAnswersLookTheSame(t *testing.T) {
	for _, tc := range []struct{ name, answer, status, body, broken string }{
		{name: "plain", answer: dated + "Content-Length: 2\r\n\r\nok", body: "ok"},
		{name: "without a date", answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", body: "ok"},
		{name: "no body", answer: dated + "Content-Length: 0\r\n\r\n", body: ""},
		{name: "chunked", answer: dated + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", body: "ok"},
		{name: "not found", answer: strings.Replace(dated, "200 OK", "404 Not Found", 1) + "Content-Length: 2\r\n\r\nno", status: "404", body: "no"},
		{name: "after an interim answer", answer: "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + dated + "Content-Length: 2\r\n\r\nok", body: "ok"},
		{name: "hop by hop", answer: dated + "Connection: keep-alive, X-Gone\r\nX-Gone: 1\r\nKeep-Alive: 5\r\nContent-Length: 2\r\n\r\nok", body: "ok"},
		{name: "closing", answer: dated + "Connection: close\r\nContent-Length: 2\r\n\r\nok", body: "ok"},
		{name: "large", answer: dated + "Content-Length: 40000\r\n\r\n" + strings.Repeat("x", 40000), body: strings.Repeat("x", 40000)},
		{name: "two lengths", answer: dated + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok", broken: "upstream_error"},
		{name: "more than its length", answer: dated + "Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad", body: "ok"},
		{name: "garbage", answer: "not http at all\r\n\r\n", broken: "upstream_error"},
		{name: "a control byte", answer: dated + "X-A: \x01\r\nContent-Length: 2\r\n\r\nok", broken: "upstream_error"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, basic, nil)
				w.rawTarget(tc.answer)
				for range 2 {
					a := w.do("GET /v1/chat/x", "X-API-Key: ann")
					if tc.broken != "" {
						if a.code() != tc.broken {
							t.Errorf("%d %q, want %s", a.status, a.body, tc.broken)
						}
						continue
					}
					want := 200
					if tc.status == "404" {
						want = 404
					}
					if a.err != nil || a.status != want || a.body != tc.body {
						t.Errorf("%d, %d bytes, %v", a.status, len(a.body), a.err)
					}
					for _, gone := range []string{"X-Gone", "Keep-Alive", "Link"} {
						if a.header.Get(gone) != "" {
							t.Errorf("%s: %s", gone, a.header.Get(gone))
						}
					}
					if a.header.Get("X-Request-Id") == "" || a.header.Get("RateLimit") == "" {
						t.Errorf("the gateway's own fields are missing: %v", a.header)
					}
				}
				w.idle()
			})
		})
	}
}

func TestAPlainAnswerToWhoWantsToClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, basic, nil)
		w.rawTarget(dated + "Content-Length: 2\r\n\r\nok")
		c := w.client()
		defer c.conn.Close()
		c.send("GET /v1/chat/x", "X-API-Key: ann", "Connection: close")
		got, err := io.ReadAll(c.br) // to the end of the connection
		if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(string(got), "\r\n\r\nok") ||
			strings.Count(string(got), "\r\nConnection: close\r\n") != 1 {
			t.Errorf("%q %v", got, err)
		}
		if a := w.do("HEAD /v1/chat/x", "X-API-Key: ann"); a.status != 200 || a.body != "" {
			t.Errorf("HEAD: %d %q", a.status, a.body)
		}
		w.idle()
	})
}
