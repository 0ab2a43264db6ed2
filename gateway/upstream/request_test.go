package upstream

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"sort"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/octets"
)

// headOf gives the request line and the sorted header lines that a target gets for a request.
func headOf(t *testing.T, request string, trusted bool) (first string, lines []string) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		var raw []string
		r := newRig(t, Options{}, one(func(_ int, c net.Conn, br *bufio.Reader) {
			for {
				line, err := br.ReadString('\n')
				if err != nil || line == "\r\n" {
					break
				}
				raw = append(raw, strings.TrimSuffix(line, "\r\n"))
			}
			_, _ = io.WriteString(c, ok(""))
		}))
		r.trusted = trusted
		c := r.client()
		c.send(request)
		c.answer(t, "GET")
		_ = c.Close()
		r.end()
		if len(raw) > 0 {
			first, lines = raw[0], raw[1:]
		}
	})
	sort.Strings(lines)
	return first, lines
}

func TestWhatATargetIsTold(t *testing.T) {
	const own = "Via: 1.1 tidegate|X-Forwarded-For: unknown|X-Forwarded-Host: h|X-Forwarded-Proto: http" // in memory nobody has an address
	for _, tc := range []struct {
		name, request string
		trusted       bool
		first, lines  string
	}{
		{"nothing but the least", "GET /a?b=c HTTP/1.1\r\nHost: h\r\n\r\n", false, "GET /a?b=c HTTP/1.1", "Host: h|" + own},
		{"the path as it is", "GET /a%2Fb//c/./d?x=%20&y HTTP/1.1\r\nHost: h\r\n\r\n", false, "GET /a%2Fb//c/./d?x=%20&y HTTP/1.1", "Host: h|" + own},
		{"the absolute form becomes the origin form", "GET http://h/a?b HTTP/1.1\r\nHost: h\r\n\r\n", false, "GET /a?b HTTP/1.1", "Host: h|" + own},
		{"HTTP/1.0 becomes HTTP/1.1", "GET /a HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n", false, "GET /a HTTP/1.1", "Host: h|" + own},
		{"no host", "GET /a HTTP/1.0\r\n\r\n", false, "GET /a HTTP/1.1", "Host: a|Via: 1.1 tidegate|X-Forwarded-For: unknown|X-Forwarded-Proto: http"},
		{
			"hop by hop ends here",
			"GET /a HTTP/1.1\r\nHost: h\r\nConnection: close, X-Mine\r\nConnection: X-Other\r\nX-Mine: 1\r\nX-Other: 2\r\nKeep-Alive: 5\r\nTE: trailers\r\nTrailer: X\r\nUpgrade: websocket\r\nProxy-Connection: x\r\nProxy-Authorization: Basic x\r\nHTTP2-Settings: x\r\nX-Stays: 3\r\n\r\n",
			false, "GET /a HTTP/1.1", "Host: h|" + own + "|X-Stays: 3",
		},
		{
			"naming what others need does not take it away",
			"GET /a HTTP/1.1\r\nHost: h\r\nConnection: Host, X-Tidegate-Caller, X-Forwarded-For, Via, Content-Type, X-Request-Id, traceparent\r\nX-Tidegate-Caller: acme\r\nX-Request-Id: r\r\nTraceparent: t\r\nContent-Type: x/y\r\n\r\n",
			false, "GET /a HTTP/1.1", "Content-Type: x/y|Host: h|Traceparent: t|" + own + "|X-Request-Id: r|X-Tidegate-Caller: acme",
		},
		{
			"a stranger's word on itself does not count",
			"GET /a HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\nX-Real-IP: 1.2.3.4\r\nForwarded: for=1.2.3.4\r\n\r\n",
			false, "GET /a HTTP/1.1", "Host: h|" + own,
		},
		{
			"a trusted proxy's word does",
			"GET /a HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: 5.6.7.8, 9.9.9.9\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: outside\r\nX-Real-IP: 1.2.3.4\r\nVia: 1.1 front\r\n\r\n",
			true, "GET /a HTTP/1.1", "Host: h|Via: 1.1 front, 1.1 tidegate|X-Forwarded-For: 1.2.3.4, 5.6.7.8, 9.9.9.9, unknown|X-Forwarded-Host: outside|X-Forwarded-Proto: https|X-Real-IP: 1.2.3.4",
		},
		{
			"cookies as they are",
			"GET /a HTTP/1.1\r\nHost: h\r\nCookie: a=b; odd ;c=\"d\"\r\n\r\n", false, "GET /a HTTP/1.1", "Cookie: a=b; odd ;c=\"d\"|Host: h|" + own,
		},
		{
			"one framing",
			"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", false,
			"POST /a HTTP/1.1", "Host: h|Transfer-Encoding: chunked|" + own,
		},
		{
			"a body that was read beforehand has a length",
			"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", false, "POST /a HTTP/1.1", "Content-Length: 3|Host: h|" + own,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			first, lines := headOf(t, tc.request, tc.trusted)
			if got := strings.Join(lines, "|"); first != tc.first || got != tc.lines {
				t.Errorf("the target got\n%s\n%s\nwant\n%s\n%s", first, got, tc.first, tc.lines)
			}
		})
	}
}

func TestThePeersAddress(t *testing.T) {
	for _, tc := range []struct{ ip, want string }{
		{"192.0.2.7", "192.0.2.7"}, {"::ffff:192.0.2.7", "192.0.2.7"}, {"2001:db8::1", "2001:db8::1"},
	} {
		if got := appendPeer(nil, &net.TCPAddr{IP: net.ParseIP(tc.ip), Port: 1}); string(got) != tc.want {
			t.Errorf("%s: got %s", tc.ip, got)
		}
	}
}

// Whatever a client puts into Connection, the message keeps its framing, host and identity.
func FuzzConnectionHeader(f *testing.F) {
	for _, s := range []string{"close", "keep-alive, X-A", ",,,", "host,content-length , x-tidegate-caller", "\"x\", y", "\tX-A\t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7)}, quiet{})
		raw := "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nX-Tidegate-Caller: acme\r\nConnection: " + value + "\r\n\r\n"
		if ctx.Request.Header.Read(bufio.NewReader(strings.NewReader(raw))) != nil || ctx.Request.Header.ContentLength() != 3 {
			return
		}
		w := &wire{}
		w.build(&ctx, 3, &Head{}, "a")
		var sent fasthttp.RequestHeader
		if err := sent.Read(bufio.NewReader(bytes.NewReader(w.head))); err != nil {
			t.Fatalf("%q: %v\n%s", value, err, w.head)
		}
		if string(sent.Host()) != "h" || sent.ContentLength() != 3 || string(sent.Peek("X-Tidegate-Caller")) != "acme" || len(sent.Peek("Connection")) != 0 {
			t.Errorf("%q left %q", value, w.head)
		}
	})
}

func TestWhatTheCallerDropsAndAdds(t *testing.T) {
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7)}, quiet{})
	raw := "GET /a HTTP/1.1\r\nHost: h\r\nX-Key: secret\r\nX-Key: again\r\nAccept: */*\r\n\r\n"
	if err := ctx.Request.Header.Read(bufio.NewReader(strings.NewReader(raw))); err != nil {
		t.Fatal(err)
	}
	w := &wire{}
	w.build(&ctx, 0, &Head{Drop: dropKey{}, More: []byte("X-More: 1\r\n")}, "a")
	want := "GET /a HTTP/1.1\r\nHost: h\r\nAccept: */*\r\nVia: 1.1 tidegate\r\nX-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: h\r\nX-More: 1\r\n\r\n"
	if string(w.head) != want {
		t.Errorf("got\n%s\nwant\n%s", w.head, want)
	}
}

type dropKey struct{}

func (dropKey) Drops(_ int, name []byte) bool { return octets.EqualFold(name, "x-key") }
