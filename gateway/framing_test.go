package gateway

import (
	"bufio"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

const usualHeader = "GET /v1/chat/completions?stream=1 HTTP/1.1\r\n" +
	"Host: api.example.com\r\n" +
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64) Chrome/120\r\n" +
	"Accept: application/json\r\n" +
	"X-API-Key: 0123456789abcdef0123456789abcdef\r\n" +
	"X-Semantic: chat\r\n" +
	"X-Tenant-Id: tenant-4711\r\n" +
	"Accept-Encoding: gzip, deflate\r\n\r\n"

var framingCases = []struct{ name, header, why string }{
	{"a usual request", usualHeader, ""},
	{"HTTP/1.0 without Host", "GET / HTTP/1.0\r\n\r\n", ""},
	{"one empty line before the request", "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"absolute target with the same Host", "GET http://A.b:80/x HTTP/1.1\r\nHost: a.b:80\r\n\r\n", ""},
	{"tabs and high bytes in values", "GET / HTTP/1.1\r\nHost: a\r\nX: a\tb \xc3\xa4 and some more text\r\n\r\n", ""},
	{"empty value", "GET / HTTP/1.1\r\nHost: a\r\nX:\r\n\r\n", ""},
	{"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", ""},
	{"chunked", "POST / HTTP/1.1\r\nHost: a\r\ntransfer-encoding: Chunked\r\n\r\n", ""},

	{"length beside coding", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", "beside"},
	{"coding beside length", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", "beside"},
	{"two lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n", "more than one Content-Length"},
	{"length list", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\n", "not a number"},
	{"length with sign", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n", "not a number"},
	{"length in hex", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n\r\n", "not a number"},
	{"length empty", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n", "not a number"},
	{"length too long", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999999999999\r\n\r\n", "not a number"},
	{"identity", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", "chunked"},
	{"gzip, chunked", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "chunked"},
	{"chunked twice", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "chunked"},
	{"chunked with vertical tab", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \vchunked\r\n\r\n", "control bytes"},
	{"coding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1"},
	{"bare LF in the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", "CRLF"},
	{"bare LF in a field", "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", "CRLF"},
	{"bare LF at the end", "GET / HTTP/1.1\r\nHost: a\r\n\n", "CRLF"},
	{"bare LF first", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "not HTTP"},
	{"bare CR in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", "control bytes"},
	{"CR CR LF", "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", "control bytes"},
	{"folded line", "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", "folded"},
	{"folded by a tab", "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n\tb\r\n\r\n", "folded"},
	{"first field folded", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", "folded"},
	{"no Host", "GET / HTTP/1.1\r\nX: a\r\n\r\n", "no Host"},
	{"empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", "no Host"},
	{"two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", "more than one Host"},
	{"Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "Host"},
	{"Host with a user", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", "Host"},
	{"blank before the colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "name"},
	{"tab before the colon", "GET / HTTP/1.1\r\nHost\t: a\r\n\r\n", "name"},
	{"blank inside a name", "GET / HTTP/1.1\r\nHost: a\r\nContent Length: 3\r\n\r\n", "name"},
	{"no colon", "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", "name"},
	{"no name", "GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", "name"},
	{"NUL in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n", "control bytes"},
	{"DEL in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: 0123456789\x7f0123456789\r\n\r\n", "control bytes"},
	{"NUL in the target", "GET /a\x00 HTTP/1.1\r\nHost: a\r\n\r\n", "target"},
	{"blank in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "target"},
	{"fragment", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", "target"},
	{"no target", "GET  HTTP/1.1\r\nHost: a\r\n\r\n", "target"},
	{"target missing whole", "GET HTTP/1.1\r\nHost: a\r\n\r\n", "target"},
	{"no slash", "GET a HTTP/1.1\r\nHost: a\r\n\r\n", "begin with /"},
	{"absolute target of another Host", "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", "differs"},
	{"absolute target with a user", "GET http://a@b/ HTTP/1.1\r\nHost: b\r\n\r\n", "differs"},
	{"HTTP/0.9", "GET /\r\n\r\n", "HTTP/1.1"},
	{"HTTP/2.0", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", "HTTP/1.1"},
	{"http/1.1", "GET / http/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1"},
	{"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1"},
	{"CONNECT", "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT"},
	{"bad method", "G(T / HTTP/1.1\r\nHost: a\r\n\r\n", "method"},
	{"a TLS hello", "\x16\x03\x01\x02\x00\x01\x00", "not HTTP"},
	{"two empty lines first", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "empty lines"},
	{"no end", "GET / HTTP/1.1\r\nHost: a\r\n", "no end"},
}

func TestHeadersThatCanBeReadInTwoWaysAreRefused(t *testing.T) {
	for _, c := range framingCases {
		t.Run(c.name, func(t *testing.T) {
			ok, why := checkFraming([]byte(c.header))
			if ok != (c.why == "") || !strings.Contains(why, c.why) {
				t.Errorf("ok %v, why %q; want %q", ok, why, c.why)
			}
		})
	}
}

func TestRefusedHeadersGetAnAnswerOverTheWireAndEndTheConnection(t *testing.T) {
	c := edgeConfig()
	e := startEdge(t, c, echo(limitsOf(c)))
	for _, tc := range framingCases {
		if tc.why == "no end" {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			cl := e.connect()
			cl.t = t
			cl.send(tc.header)
			if strings.Contains(tc.header, "hunked\r\n") && tc.why == "" {
				cl.send("0\r\n\r\n")
			}
			if tc.why == "" {
				cl.answer().says(t, 200, " ")
				return
			}
			a := cl.answer()
			a.says(t, 400, `"code":"bad_request"`)
			a.says(t, 400, tc.why)
			if !a.ConnectionClose() {
				t.Error("no Connection: close")
			}
			cl.closed()
		})
	}
}

func TestARefusedHeaderAfterAGoodRequestIsAnsweredToo(t *testing.T) {
	c := edgeConfig()
	e := startEdge(t, c, echo(limitsOf(c)))
	for name, sent := range map[string]string{
		"pipelined": usualHeader + "GET / HTTP/1.1\nHost: a\r\n\r\n",
		"after a body": "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc" +
			"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
		"after chunks": "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" +
			"GET / HTTP/1.1\r\nHost: a\r\nX: y\nZ: z\r\n\r\n",
	} {
		cl := e.connect().send(sent)
		cl.answer().says(t, 200, " ")
		cl.answer().says(t, 400, "bad_request")
		cl.closed()
		_ = name
	}
}

func TestUsualHeaderIsCheckedWithoutAllocation(t *testing.T) {
	header := []byte(usualHeader)
	if n := testing.AllocsPerRun(100, func() {
		if ok, why := checkFraming(header); !ok {
			t.Fatal(why)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// identityTable is the table of the default places.
func identityTable() *fieldTable {
	t := newFieldTable()
	for _, name := range []string{"x-api-key", "x-semantic", "x-tenant-id"} {
		t.add(field{name, true, true})
	}
	return t
}

func TestFieldsAreFoundOnceOrTwice(t *testing.T) {
	table := identityTable()
	key := fixedFields
	for _, c := range []struct{ raw, twice, key, wait string }{
		{"", "", "", ""},
		{"\r\n", "", "", ""},
		{"Host: a\r\nX-API-Key: 1\r\nX-Semantic: chat\r\n\r\n", "", "1", ""},
		{"X-API-Key: 1\r\nx-api-key: 1\r\n\r\n", "x-api-key", "1", ""},
		{"X-SEMANTIC: a\r\nHost: b\r\nX-Semantic: a\r\n\r\n", "x-semantic", "", ""},
		{"X-Other-K: 1\r\nX-Other-K: 1\r\nX-Max-Wait:1s\r\n\r\n", "", "", "1s"},
		{"X-API-Keyx: 1\r\nX-API-Key: \t1 2 \r\nX: X-API-Key: 2\r\n\r\n", "", "1 2", ""},
		{"X-Request-Id: a\r\nX-Request-Id: b\r\nx-max-wait: 2s\r\n\r\n", "", "", "2s"},
	} {
		var values fieldValues
		twice := table.read([]byte(c.raw), &values)
		if twice != c.twice || string(values.of(key)) != c.key || string(values.of(fieldMaxWait)) != c.wait {
			t.Errorf("%q: twice %q, key %q, wait %q", c.raw, twice, values.of(key), values.of(fieldMaxWait))
		}
	}
	raw := []byte(usualHeader[strings.Index(usualHeader, "\n")+1:])
	var values fieldValues
	if n := testing.AllocsPerRun(100, func() { table.read(raw, &values) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestWhatEndsAtTheGateway(t *testing.T) {
	table := identityTable()
	names := map[string]bool{
		"X-Api-Key": true, "x-tidegate-caller": true, "X-Tidegate-Anything": true, "X_Tidegate_Caller": true, "x-tidegate_caller": true, "X-Queue-Ticket": true, "X-Request-ID": true, "Traceparent": true,
		"X-Tidegat": false, "Authorization": false, "Tracestate": false, "Accept": false, "X-Tidegatf-A": false, "X+Tidegate-A": false,
	}
	for name, want := range names {
		for _, before := range []int{0, 1, 63, 64, 70} { // also behind more lines than are kept count of
			var values fieldValues
			if twice := table.read([]byte(strings.Repeat("A: b\r\n", before)+name+": 1\r\n\r\n"), &values); twice != "" {
				t.Fatal(twice)
			}
			if got := table.drops(&values, before, []byte(name)); got != want {
				t.Errorf("%s as line %d: %v", name, before, got)
			}
			if before > 0 && table.drops(&values, before-1, []byte("A")) {
				t.Errorf("the line before %s is dropped", name)
			}
		}
	}
}

// What passes the scan must mean the same to the server's own parser, and end at the same byte.
func FuzzHeaderScanAgreesWithTheServer(f *testing.F) {
	for _, c := range framingCases {
		f.Add([]byte(c.header), uint8(7))
	}
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		var whole headerScan
		state := whole.scan(b)

		// in pieces: the same verdict, at the same place
		var pieces headerScan
		got := scanMore
		for n := 1; n <= len(b) && got == scanMore; n += int(step)%32 + 1 {
			got = pieces.scan(b[:n])
		}
		if got == scanMore {
			got = pieces.scan(b)
		}
		if got != state || pieces.pos != whole.pos || pieces.why != whole.why || pieces.length != whole.length {
			t.Fatalf("whole: %+v %v; in pieces: %+v %v", whole, state, pieces, got)
		}
		if state != scanDone {
			return
		}
		var h fasthttp.RequestHeader
		br := bufio.NewReaderSize(strings.NewReader(string(b)), len(b)+16)
		if err := h.Read(br); err != nil {
			return // stricter still: refused as well
		}
		if used := len(b) - br.Buffered(); used != whole.pos {
			t.Fatalf("the server's header ends at %d, ours at %d", used, whole.pos)
		}
		length := max(h.ContentLength(), bodyChunked)
		if h.ContentLength() == -2 {
			length = 0
		}
		if int64(length) != whole.length {
			t.Fatalf("the server's body has length %d, ours %d", length, whole.length)
		}
		if string(h.Host()) != string(b[whole.host.from:whole.host.to]) {
			t.Fatalf("the server's Host is %q, ours %q", h.Host(), b[whole.host.from:whole.host.to])
		}
	})
}

func BenchmarkHeaderScan(b *testing.B) {
	header := []byte(usualHeader)
	b.ReportAllocs()
	for b.Loop() {
		checkFraming(header)
	}
}

func BenchmarkFields(b *testing.B) {
	table := identityTable()
	raw := []byte(usualHeader[strings.Index(usualHeader, "\n")+1:])
	b.ReportAllocs()
	for b.Loop() {
		var values fieldValues
		table.read(raw, &values)
	}
}
