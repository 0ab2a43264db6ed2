package record

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const stamp = "[10/Oct/2000:13:55:36 -0700]" // 971211336

func TestAccessLinesAreRead(t *testing.T) {
	for _, c := range []struct {
		format     AccessFormat
		line, want string
	}{
		{AccessCommon, `127.0.0.1 - frank ` + stamp + ` "GET /apache_pb.gif HTTP/1.0" 200 2326`, `127.0.0.1 frank GET  /apache_pb.gif 200 2326 0s false`},
		{AccessAuto, `h - - ` + stamp + ` "GET /x?a=b HTTP/1.1" 304 -`, `h  GET  /x?a=b 304 -1 0s false`},
		{AccessAuto, `h - - ` + stamp + ` "POST /x HTTP/1.1" 200 5 "-" "curl/8" 0.125`, `h  POST  /x 200 5 125ms true`},
		{AccessNginx, `h - - ` + stamp + ` "POST /x HTTP/1.1" 200 5 "-" "a \"b\" 1.0" "10.0.0.1" 12 1.500 0.700`, `h  POST  /x 200 5 1.5s true`},
		{AccessNginx, `h - - ` + stamp + ` "POST /x HTTP/1.1" 200 5 "-" "curl"`, `h  POST  /x 200 5 0s false`},
		// What follows there is not a time in seconds by any custom.
		{AccessCombined, `h - - ` + stamp + ` "POST /x HTTP/1.1" 200 5 "-" "curl" 0.125`, `h  POST  /x 200 5 0s false`},
		{AccessCommon, `h - - ` + stamp + ` "POST /x HTTP/1.1" 200 5 0.125`, `h  POST  /x 200 5 0s false`},
		{AccessAuto, `h - a b c ` + stamp + ` "GET /x HTTP/1.1" 200 5`, `h a b c GET  /x 200 5 0s false`},
		{AccessAuto, `2001:db8::1 - - ` + stamp + ` "GET http://api.test:80/x HTTP/1.1" 200 5`, `2001:db8::1  GET api.test:80 /x 200 5 0s false`},
		{AccessAuto, `h - - ` + stamp + ` "OPTIONS http://api.test HTTP/1.1" 200 5`, `h  OPTIONS api.test / 200 5 0s false`},
		{AccessAuto, `h - - ` + stamp + ` "GET /a\x22b\"c\\d\xe4 HTTP/1.1" 200 5`, `h  GET  /a"b"c\d` + "\xe4" + ` 200 5 0s false`},
		{AccessAuto, `h - - ` + stamp + ` "GET /a b HTTP/1.1" 200 5`, `h  GET  /a b 200 5 0s false`},
		// No request, and yet somebody came.
		{AccessAuto, `h - - ` + stamp + ` "\x16\x03\x01" 400 0 "-" "-"`, `h     400 0 0s false`},
		{AccessAuto, `h - - ` + stamp + ` "-" 408 - "-" "-"`, `h     408 -1 0s false`},
		{AccessAuto, `h - - ` + stamp + ` "" 400 0`, `h     400 0 0s false`},
	} {
		p := AccessParser{Format: c.format}
		a, err := p.Parse([]byte(c.line))
		got := fmt.Sprintf("%s %s %s %s %s %d %d %v %v", a.Address, a.User, a.Method, a.Host, a.Target, a.Status, a.Bytes, a.Took, a.Ended)
		if err != nil || got != c.want || a.Time != 971211336 {
			t.Errorf("%s %s\n%s at %d, %v, want\n%s", c.format, c.line, got, a.Time, err, c.want)
		}
	}
}

func TestAccessLinesThatCannotBeReadSayWhy(t *testing.T) {
	for line, want := range map[string]string{
		``: "it does not begin with",
		`h - ` + stamp + ` "GET / HTTP/1.1" 200 5`:                                 "it does not begin with",
		`h - - [10/Oct/2000:13:55:36] "GET / HTTP/1.1" 200 5`:                      `"10/Oct/2000:13:55:36" is no time`,
		`h - - [31/Feb/2000:13:55:36 +0000] "GET / HTTP/1.1" 200 5`:                "is no time",
		`h - - ` + stamp + ` "GET / HTTP/1.1" 200`:                                 "it does not go on with",
		`h - - ` + stamp + ` GET / HTTP/1.1 200 5`:                                 "it does not go on with",
		`h - - ` + stamp + ` "GET / HTTP/1.1 200 5`:                                "a quote is not closed",
		`h - - ` + stamp + ` "GET / HTTP/1.1\`:                                     "a quote is not closed",
		`h - - ` + stamp + ` "GET / HTTP/1.1" OK 5`:                                `"OK" is no status`,
		`h - - ` + stamp + ` "GET / HTTP/1.1" 200 many`:                            `"many" is no number of bytes`,
		`h - - ` + stamp + ` "GET / HTTP/1.1" 200 -5`:                              "is no number of bytes",
		`h - - ` + stamp + ` "GET / HTTP/1.1" ` + strings.Repeat("9", 1000) + ` 5`: "is no status",
	} {
		p := AccessParser{Format: AccessAuto}
		if _, err := p.Parse([]byte(line)); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 200 {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	for _, format := range []AccessFormat{AccessCombined, AccessNginx} {
		p := AccessParser{Format: format}
		if _, err := p.Parse([]byte(`h - - ` + stamp + ` "GET / HTTP/1.1" 200 5`)); err == nil || !strings.Contains(err.Error(), "try -format common") {
			t.Errorf("%s: %v", format, err)
		}
	}
	if _, err := ParseAccessFormat("apache"); err == nil {
		t.Error("an unknown format was taken")
	}
}

// A parser remembers the last time it read.
func TestTimesOfOtherZonesAreTheSameMoments(t *testing.T) {
	p := AccessParser{Format: AccessAuto}
	for _, at := range []string{"10/Oct/2000:20:55:36 +0000", "10/Oct/2000:13:55:36 -0700", "10/Oct/2000:13:55:36 -0700", "11/Oct/2000:04:55:36 +0800"} {
		if a, err := p.Parse([]byte(`h - - [` + at + `] "GET / HTTP/1.1" 200 5`)); err != nil || a.Time != 971211336 {
			t.Errorf("%s: %d, %v", at, a.Time, err)
		}
	}
}

func FuzzAccessParser(f *testing.F) {
	f.Add(`h - u `+stamp+` "GET /x\x22 HTTP/1.1" 200 5 "-" "a" 0.125`, `h - - [11/Oct/2000:13:55:36 -0700] "GET http://h/x HTTP/1.1" 200 5`)
	f.Fuzz(func(t *testing.T, first, second string) {
		for _, format := range []AccessFormat{AccessAuto, AccessCommon, AccessCombined, AccessNginx} {
			used, fresh := AccessParser{Format: format}, AccessParser{Format: format}
			used.Parse([]byte(first))
			a, err := used.Parse([]byte(second))
			b, again := fresh.Parse([]byte(second))
			if fmt.Sprint(a, err) != fmt.Sprint(b, again) {
				t.Fatalf("behind another line it is read otherwise:\n%v %v\n%v %v", a, err, b, again)
			}
			if err != nil {
				continue
			}
			if len(a.Address) == 0 || a.Status < 0 || a.Status > 999 || a.Bytes < -1 || a.Took < 0 || a.Took > 1e7*time.Second || len(a.Fields) < 7 {
				t.Fatalf("%+v", a)
			}
			if (len(a.Method) == 0) != (len(a.Target) == 0) {
				t.Fatalf("half a request: %+v", a)
			}
		}
	})
}
