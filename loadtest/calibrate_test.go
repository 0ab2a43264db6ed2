package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image/png"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"tidegate/loadtest/openloop"
	"tidegate/loadtest/upstream"
)

// calibrateFake calibrates a server in memory, in virtual time, with the flags of a command line. interrupt is when the
// user ends it; 0: never.
func calibrateFake(t *testing.T, server *fasthttp.Server, interrupt time.Duration, args ...string) (out string, err error) {
	t.Helper()
	o, err := parseCalibrate(append([]string{"-target", "http://127.0.0.1:1"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if interrupt > 0 {
			time.AfterFunc(interrupt, cancel)
		}
		listener := fasthttputil.NewInmemoryListener()
		server.NoDefaultDate, server.Logger = true, log.New(io.Discard, "", 0)
		go server.Serve(listener)
		where, problem := o.aim.target(ctx)
		if problem != nil {
			t.Fatal(problem)
		}
		where.dial = func(context.Context) (net.Conn, error) { return listener.Dial() }
		var text bytes.Buffer
		err = calibrateOn(ctx, o, where, &text)
		out = text.String()
		listener.Close()
		time.Sleep(time.Hour) // the server's own goroutines run out
	})
	return out, err
}

func TestCalibrateFindsTheWorkersOfAnUpstream(t *testing.T) {
	dir := t.TempDir()
	svg, figures := filepath.Join(dir, "curve.svg"), filepath.Join(dir, "curve.json")
	out, err := calibrateFake(t, upstream.New(upstream.Options{Workers: 4, Backlog: upstream.Backlog}), 0,
		"-path", "/v1/chat/x?key=hush-query", "-header", "X-API-Key: hush-header", "-semantic", "chat", "-level", "realtime", "-step-seconds", "2", "-picture", svg, "-json", figures)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(figures)
	if err != nil {
		t.Fatal(err)
	}
	var r calibration
	if err := json.Unmarshal(text, &struct {
		*calibration
		Limit   float64 `json:"limit_ms"`
		MaxWait float64 `json:"max_wait_ms"`
		Steps   any     `json:"steps"`
		Knee    any     `json:"knee"`
		Beyond  any     `json:"beyond"`
		Runs    any     `json:"seat_runs"`
	}{calibration: &r}); err != nil {
		t.Fatal(err)
	}
	// Four workers of 20 ms: 200/s.
	if r.Seats != 4 || !r.SeatsMeasured || r.End != "found" || r.PoolRate < 0.9*140 || r.PoolRate > 0.9*201 {
		t.Errorf("%d seats (measured: %v), %s, %.1f/s for the pool; want 4, true, found, 126 to 180", r.Seats, r.SeatsMeasured, r.End, r.PoolRate)
	}
	picture, err := os.ReadFile(svg)
	if err != nil || !bytes.Contains(picture, []byte("<svg")) || !bytes.Contains(picture, []byte("offered, requests/s")) {
		t.Errorf("the picture: %v, %.80s", err, picture)
	}
	for _, want := range []string{"seats = 4\n", "Knee: ", "without load", "4 seats", "max_wait = ", `level = "realtime"`, "With the headers X-API-Key.", "GET http://127.0.0.1:1/v1/chat/x:"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in what is printed:\n%s", want, out)
		}
	}
	if all := out + string(text) + string(picture); strings.Contains(all, "hush") {
		t.Error("a secret is in what is printed or written")
	}
}

func TestCalibrateSaysThatThereIsNoKnee(t *testing.T) {
	file := filepath.Join(t.TempDir(), "curve.png")
	out, err := calibrateFake(t, upstream.New(upstream.Options{}), 0, "-max-rate", "100", "-step-seconds", "1", "-picture", file)
	if err != nil || !strings.Contains(out, "No knee up to 100/s") || !strings.Contains(out, "seats = 2") && !strings.Contains(out, "seats = 3") {
		t.Errorf("%v\n%s", err, out)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if picture, err := png.Decode(f); err != nil || picture.Bounds().Dx() < 600 {
		t.Errorf("the picture: %v", err)
	}
}

func TestCalibrateEndsEarlyWithWhatIsKnown(t *testing.T) {
	failing := func() *fasthttp.Server {
		inFlight := make(chan struct{}, 2)
		return &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			select {
			case inFlight <- struct{}{}:
				time.Sleep(20 * time.Millisecond)
				<-inFlight
			default:
				ctx.SetStatusCode(500)
			}
		}}
	}
	for _, step := range []struct {
		name      string
		server    *fasthttp.Server
		interrupt time.Duration
		args      []string
		want      string
	}{
		{"Ctrl-C", upstream.New(upstream.Options{}), 30 * time.Second, nil, "interrupted. This is what is known so far"},
		{"no time left", upstream.New(upstream.Options{}), 0, []string{"-max-time", "30s"}, "out of time"},
		{"errors", failing(), 0, nil, "Ended at once: the upstream answered with errors"},
		{"connections", upstream.New(upstream.Options{}), 0, []string{"-max-conns", "3"}, "raise -max-conns"},
	} {
		out, err := calibrateFake(t, step.server, step.interrupt, append(step.args, "-step-seconds", "2")...)
		if !errors.Is(err, errFailed) || !strings.Contains(out, step.want) || !strings.Contains(out, "seats = ") {
			t.Errorf("%s: %v\n%s", step.name, err, out)
		}
	}
}

func TestCalibrateRefusesWhatIsNotServedAlone(t *testing.T) {
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Request.Header.Peek("X-API-Key")) != "right" || string(ctx.Request.Body()) != "{}" || string(ctx.Method()) != "POST" {
			ctx.SetStatusCode(401)
		}
	}}
	body := filepath.Join(t.TempDir(), "body.json")
	headers := filepath.Join(t.TempDir(), "headers")
	for file, text := range map[string]string{body: "{}", headers: "X-API-Key: right\r\n\nX-Other: x\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := calibrateFake(t, server, 0, "-body", body, "-header", "X-API-Key: wrong")
	if err == nil || !strings.Contains(err.Error(), "http_401") || strings.Contains(err.Error(), "wrong") {
		t.Errorf("%v", err)
	}
	if out, err := calibrateFake(t, server, 0, "-body", body, "-header", "@"+headers, "-max-rate", "30", "-step-seconds", "1"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCalibrateRunsOnThisMachine(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}, CloseOnShutdown: true}
	go server.Serve(listener)
	defer server.Shutdown()
	// Whether a step is void or slow is the machine's affair; the whole way from the command line to the files is not.
	var out bytes.Buffer
	file := filepath.Join(t.TempDir(), "curve.svg")
	err = run(t.Context(), []string{
		"calibrate", "-target", "http://" + listener.Addr().String(), "-max-rate", "50", "-step-seconds", "0.1", "-max-time", "5s", "-picture", file,
	}, &out)
	if err != nil && !errors.Is(err, errFailed) && !strings.Contains(err.Error(), "was late") && !strings.Contains(err.Error(), "more time") {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if err == nil {
		if _, err := os.Stat(file); err != nil || !strings.Contains(out.String(), "[[pools]]") {
			t.Errorf("%v\n%s", err, out.String())
		}
	}
}

func TestCalibrateCommandLinesThatCannotBePlayed(t *testing.T) {
	const here = "-target http://127.0.0.1:1 "
	for _, step := range []struct{ args, want string }{
		{"", "without a -target"},
		{"-target 127.0.0.1:9000", "without a -target"},
		{"-target ftp://127.0.0.1", "without a -target"},
		{"-target http://me:hush@127.0.0.1", "credentials into -header"},
		{"-target http://127.0.0.1/v1", "belongs into -path"},
		{"-target http://127.0.0.1?key=hush", "belongs into -path"},
		{"-target http://192.0.2.1", "say -may-load 192.0.2.1"},
		{"-target http://192.0.2.1 -may-load 192.0.2.2", "say -may-load 192.0.2.1"},
		{"-target http://[2001:db8::1]:80", "say -may-load 2001:db8::1"},
		{here + "-path v1", "begin with /"},
		{here + "-path /a#b", "begin with /"},
		{here + "-method HEAD", "use GET"},
		{here + "-method GE:T", "a word such as"},
		{here + "-header hush", "-header number 1"},
		{here + "-header Connection:hush", "the client sets it itself"},
		{here + "-header A:hush -header a:hush", "there twice"},
		{here + "-header A:hush\x00", "control characters"},
		{here + "-header @/nowhere", "cannot read the headers"},
		{here + "-body /nowhere", "cannot read the -body"},
		{here + "-timeout 2h", "from 1ms to 1h"},
		{here + "-slo p101", "p50 to p99.9"},
		{here + "-slo p99=-1s", "p50 to p99.9"},
		{here + "-slo median", "p50 to p99.9"},
		{here + "-max-rate 0", "-max-rate 0"},
		{here + "-max-rate NaN", "-max-rate NaN"},
		{here + "-start-rate 3000", "-start-rate 3000"},
		{here + "-step-seconds 0", "-step-seconds 0"},
		{here + "-max-time 0s", "-max-time 0"},
		{here + "-max-conns 0", "-max-conns 0"},
		{here + "-times 1", "-times 1"},
		{here + "-headroom 1", "-headroom 1"},
		{here + "-callers 0", "-callers 0"},
		{here + "-semantic Chat", "a-z 0-9"},
		{here + "-picture curve.gif", ".svg or .png"},
		{here + "-picture /nowhere/curve.svg", "cannot write /nowhere/curve.svg"},
		{here + "-json /nowhere/curve.json", "cannot write /nowhere/curve.json"},
		{here + "hush", "belong to no flag"},
	} {
		err := run(context.Background(), append([]string{"calibrate"}, strings.Fields(step.args)...), io.Discard)
		if err == nil || !strings.Contains(err.Error(), step.want) {
			t.Errorf("%q: %v, want %q", step.args, err, step.want)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: a secret is told: %v", step.args, err)
		}
	}
}

func TestATargetElsewhereMayBeNamedTwice(t *testing.T) {
	for _, step := range []struct{ args, name, request string }{
		{"-target http://192.0.2.1:81 -may-load 192.0.2.1 -path /x", "GET http://192.0.2.1:81/x", "GET /x HTTP/1.1\r\nHost: 192.0.2.1:81\r\n\r\n"},
		{"-target http://127.0.0.2 -path /x?y -header Host:app -header A:b", "GET http://127.0.0.2/x", "GET /x?y HTTP/1.1\r\nHost: app\r\nA: b\r\n\r\n"},
		{"-target https://[::1]:443 -method PUT", "PUT https://[::1]:443/", "PUT / HTTP/1.1\r\nHost: [::1]:443\r\n\r\n"},
	} {
		o, err := parseCalibrate(strings.Fields(step.args))
		if err != nil {
			t.Fatal(err)
		}
		where, err := o.aim.target(t.Context())
		if err != nil || where.name != step.name || string(where.request.Bytes) != step.request {
			t.Errorf("%s: %v, %+v", step.args, err, where)
		}
	}
}

func TestASecondRequestMeasuresWhatTheConnectionDoesNotCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := fasthttputil.NewInmemoryListener()
		server := upstream.New(upstream.Options{})
		go server.Serve(listener)
		slow := func(context.Context) (net.Conn, error) {
			time.Sleep(300 * time.Millisecond)
			return listener.Dial()
		}
		up := &wire{conns: 5, quantile: 0.99, target: &target{dial: slow, request: openloop.NewRequest("GET", "x", "/", nil, "", time.Second)}}
		if a, err := up.Ask(t.Context()); err != nil || a.Reason != "" || a.Latency != upstream.ChatTime {
			t.Errorf("%v, %+v", err, a)
		}
		listener.Close()
		time.Sleep(time.Hour)
	})
}

func FuzzParseObjective(f *testing.F) {
	f.Add("p99=250ms")
	f.Add("p99.9")
	f.Fuzz(func(t *testing.T, s string) {
		o, err := parseObjective(s)
		if err == nil && (o.quantile < 0.5 || o.quantile >= 1 || o.limit < 0) {
			t.Errorf("%q: %+v", s, o)
		}
	})
}

func FuzzParseHeaders(f *testing.F) {
	f.Add("X-API-Key: k")
	f.Add("a:b\r\nc:d")
	f.Fuzz(func(t *testing.T, line string) {
		if strings.HasPrefix(line, "@") {
			return
		}
		headers, err := parseHeaders([]string{line})
		for name, value := range headers {
			if err != nil || strings.ContainsAny(name+value, "\r\n\x00") || strings.ContainsAny(name, ": ") {
				t.Errorf("%q: %v, %q", line, err, headers)
			}
		}
	})
}
