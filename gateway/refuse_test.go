package gateway

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/config"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; is:\n%s\nwas:\n%s", name, got, want)
	}
}

func refusalOf(code Code) *Refusal {
	return &Refusal{
		Code: code, Caller: "acme", Semantic: "export", Rule: "free/reports/export", RequestID: "0123456789ab-1z",
		Limit: 20, Remaining: 3, HasLimit: true, RetryAfter: 2100 * time.Millisecond,
		OffPeak: &config.OffPeak{From: 60, To: 6 * 60, Text: "01:00-06:00"},
	}
}

func TestProblemDocumentsOfEachCodeInBothLanguages(t *testing.T) {
	for _, lang := range []language{english, chinese} {
		var all strings.Builder
		for code := CodeBadRequest; code < codeEnd; code++ {
			for _, safe := range []bool{true, false} {
				if !safe && code != CodeUpstreamError && code != CodeUpstreamTimeout {
					continue
				}
				doc := refusalOf(code).appendProblem(nil, lang, safe)
				fmt.Fprintf(&all, "%d %s", code.Status(), doc)
				checkProblem(t, code, doc)
			}
		}
		golden(t, "problems."+lang.tag(), all.String())
	}
}

func checkProblem(t *testing.T, code Code, doc []byte) {
	t.Helper()
	var p struct {
		Type, Title, Detail, Instance, Code, Caller, Semantic, Rule string
		Status                                                      int
		Retryable                                                   *bool
		Limit, Remaining                                            *int64
		RetryAfterMS                                                int64                     `json:"retry_after_ms"`
		OffPeak                                                     struct{ From, To string } `json:"off_peak"`
	}
	if err := json.Unmarshal(doc, &p); err != nil {
		t.Fatalf("%v: %v in %s", code, err, doc)
	}
	if p.Type != "urn:tidegate:problem:"+code.String() || p.Code != code.String() || p.Status != code.Status() || p.Title == "" ||
		p.Detail == "" || p.Instance != "0123456789ab-1z" || p.Retryable == nil || p.Limit == nil || p.Remaining == nil ||
		p.OffPeak.From != "01:00" || p.OffPeak.To != "06:00" || *p.Retryable != (p.RetryAfterMS > 0) {
		t.Errorf("%v: %+v", code, p)
	}
}

func TestStatusesAreTheContracts(t *testing.T) {
	want := map[int]string{
		400: "bad_request tenant_missing", 401: "caller_unknown", 403: "caller_disabled quota_exhausted", 404: "route_unknown", 408: "body_slow",
		413: "body_too_large", 431: "headers_too_large", 500: "internal", 502: "upstream_error", 503: "no_upstream draining", 504: "upstream_timeout",
		429: "rate_exceeded wait_too_long wait_expired queue_full displaced too_many_in_flight address_limited",
	}
	got := map[int]string{}
	for code := CodeBadRequest; code < codeEnd; code++ {
		got[code.Status()] = strings.TrimSpace(got[code.Status()] + " " + code.String())
		retryable := code.Status() == 429 || code.Status() >= 500
		if code.Retryable(true) != retryable {
			t.Errorf("%v: retryable %v", code, !retryable)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	if CodeUpstreamError.Retryable(false) || CodeUpstreamTimeout.Retryable(false) || !CodeNoUpstream.Retryable(false) {
		t.Error("after an upstream's failure only safe methods may be repeated")
	}
}

// answerTo writes a refusal to a request with the given header lines.
func answerTo(method string, r *Refusal, fields ...string) *fasthttp.Response {
	ctx := &fasthttp.RequestCtx{}
	ctx.Init(&fasthttp.Request{}, nil, nil)
	ctx.Request.Header.SetMethod(method)
	for i := 0; i < len(fields); i += 2 {
		ctx.Request.Header.Set(fields[i], fields[i+1])
	}
	writeRefusal(ctx, r)
	resp := &fasthttp.Response{}
	ctx.Response.CopyTo(resp)
	return resp
}

func TestRefusalsAreWrittenInTheCallersLanguage(t *testing.T) {
	for accept, want := range map[string]string{
		"": "en", "en": "en", "zh": "zh", "zh-CN,zh;q=0.9,en;q=0.8": "zh", "en-US,en;q=0.9,zh;q=0.8": "en", "fr, zh;q=0.5": "zh", "fr": "en",
		"en;q=0.3, zh-TW;q=0.7": "zh", "*": "en", "*;q=0.1, zh;q=0.2": "zh", "zh;q=0, en;q=0.1": "en", "zh;q=0": "en", "ZH-hans": "zh",
		"zhx": "en", " zh ; q=1.000 , en": "zh", "zh;q=1.5": "en", "zh;q=x": "en", ",,;,": "en", "zh;level=1": "en",
	} {
		resp := answerTo("GET", refusalOf(CodeQueueFull), "Accept-Language", accept)
		if got := string(resp.Header.Peek("Content-Language")); got != want {
			t.Errorf("%q: %s, want %s", accept, got, want)
		}
		if (want == "zh") != strings.Contains(string(resp.Body()), "队列已满") {
			t.Errorf("%q: %s", accept, resp.Body())
		}
		if string(resp.Header.Peek("Vary")) != "Accept-Language" || string(resp.Header.ContentType()) != "application/problem+json" {
			t.Errorf("%q: %v", accept, &resp.Header)
		}
	}
}

func TestRetryAfterIsWholeSecondsAndNeverTooEarly(t *testing.T) {
	for _, c := range []struct {
		after, reset time.Duration
		header       string
		ms           int64
	}{
		{0, 0, "1", 1000},
		{time.Nanosecond, 0, "1", 1},
		{350 * time.Millisecond, 0, "1", 350},
		{time.Second, 0, "1", 1000},
		{time.Second + 1, 0, "2", 1001},
		{2100 * time.Millisecond, 0, "3", 2100},
		{-time.Second, 0, "1", 1000},
		{time.Second, 12 * time.Second, "12", 12000}, // never before the RateLimit field's t
		{time.Hour, 12 * time.Second, "3600", 3600_000},
	} {
		resp := answerTo("GET", &Refusal{Code: CodeRateExceeded, RetryAfter: c.after, Reset: c.reset})
		var p struct {
			MS    int64 `json:"retry_after_ms"`
			Reset *int64
		}
		if err := json.Unmarshal(resp.Body(), &p); err != nil {
			t.Fatal(err)
		}
		header := string(resp.Header.Peek("Retry-After"))
		if header != c.header || p.MS != c.ms || (p.Reset != nil) != (c.reset > 0) || p.Reset != nil && *p.Reset < 1 {
			t.Errorf("%v: Retry-After %q, body %s", c, header, resp.Body())
		}
	}
	for code := CodeBadRequest; code < codeEnd; code++ {
		resp := answerTo("POST", refusalOf(code))
		if got := len(resp.Header.Peek("Retry-After")) > 0; got != code.Retryable(false) {
			t.Errorf("%v: Retry-After there: %v", code, got)
		}
	}
}

func TestRemainingIsNeverNegative(t *testing.T) {
	resp := answerTo("GET", &Refusal{Code: CodeRateExceeded, HasLimit: true, Limit: 5, Remaining: -3})
	if !strings.Contains(string(resp.Body()), `"limit":5,"remaining":0`) {
		t.Errorf("%s", resp.Body())
	}
}

func TestTheRulesOwnWordsComeFirst(t *testing.T) {
	for _, c := range []struct{ message, detail, want string }{
		{"Exports run at night.", "more exact", "Exports run at night."}, {"", "more exact", "more exact"}, {"", "", "rate allows"},
	} {
		resp := answerTo("GET", &Refusal{Code: CodeRateExceeded, Message: c.message, Detail: c.detail})
		if !strings.Contains(string(resp.Body()), c.want) {
			t.Errorf("%+v: %s", c, resp.Body())
		}
	}
}

func TestHeadGetsNoBody(t *testing.T) {
	c := edgeConfig()
	e := startEdge(t, c, func(ctx *fasthttp.RequestCtx) { writeRefusal(ctx, refusalOf(CodeRouteUnknown)) })
	cl := e.connect().send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n" + get)
	a := &answer{}
	a.SkipBody = true
	if err := a.Read(cl.br); err != nil || a.StatusCode() != 404 {
		t.Fatal(a.StatusCode(), err)
	}
	cl.answer().says(t, 404, "route_unknown") // what follows is an answer, no body of the first
}

func TestRefusalsAreWrittenWithoutAllocation(t *testing.T) {
	ctx := &fasthttp.RequestCtx{}
	ctx.Init(&fasthttp.Request{}, nil, nil)
	ctx.Request.Header.Set("Accept-Language", "zh-CN,zh;q=0.9,en;q=0.8")
	r := refusalOf(CodeRateExceeded)
	if n := testing.AllocsPerRun(200, func() {
		ctx.Response.Reset()
		writeRefusal(ctx, r)
	}); n > 0 && !raceEnabled {
		t.Errorf("%v allocations", n)
	}
}

func TestSpreadSendsCallersHomeOutOfStep(t *testing.T) {
	const callers = 10_000
	var seconds [13]int
	for i := range uint64(callers) {
		d := spread(i, 10*time.Second)
		if d < 10*time.Second || d > 12*time.Second {
			t.Fatalf("caller %d: %v", i, d)
		}
		if d != spread(i, 10*time.Second) {
			t.Fatalf("caller %d is sent to two moments", i)
		}
		seconds[d/time.Second]++
	}
	for s := 10; s < 12; s++ {
		if seconds[s] < callers/2*9/10 || seconds[s] > callers/2*11/10 {
			t.Errorf("%d return in second %d", seconds[s], s)
		}
	}
	for _, d := range []time.Duration{0, -time.Second, 1, math.MaxInt64 / 2} {
		if got := spread(7, d); got < d {
			t.Errorf("spread(%v) = %v", d, got)
		}
	}
}

func FuzzJSONStringsReadBackAsTheyWere(f *testing.F) {
	for _, s := range []string{"", "plain", `a"b\c`, "\x00\x1f\x7f", "<script>&", "队列已满", "\xff\xfe", "\u2028\u2029", "😀\xf0\x9f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		doc := appendJSONString([]byte("x"), s)[1:]
		var got string
		if err := json.Unmarshal(doc, &got); err != nil {
			t.Fatalf("%q: %v in %s", s, err, doc)
		}
		std, _ := json.Marshal(s)
		var want string
		_ = json.Unmarshal(std, &want)
		if got != want || !utf8.Valid(doc) {
			t.Fatalf("%q: %s, encoding/json says %s", s, doc, std)
		}
	})
}

func FuzzAcceptLanguage(f *testing.F) {
	f.Add("zh-CN,zh;q=0.9,en;q=0.8")
	f.Add("en;q=0.123, *;q=1.0")
	f.Fuzz(func(t *testing.T, s string) {
		got := preferredLanguage([]byte(s))
		// a naive reading, of values that are well formed
		best, bestQ := english, 0.0
		for item := range strings.SplitSeq(s, ",") {
			name, params, has := strings.Cut(item, ";")
			name = strings.Trim(name, " \t")
			q := 1.0
			if params = strings.Trim(params, " \t"); has && params != "" {
				v, ok := strings.CutPrefix(strings.ToLower(params), "q=")
				var err error
				q, err = strconv.ParseFloat(v, 64)
				if !ok || err != nil || len(v) > 5 || q < 0 || q > 1 || strings.Trim(v, "0123456789.") != "" || v[0] == '.' || strings.HasPrefix(v, "00") || strings.HasPrefix(v, "01") {
					return
				}
			}
			var lang language
			switch lower := strings.ToLower(name); {
			case lower == "*" || lower == "en" || strings.HasPrefix(lower, "en-"):
			case lower == "zh" || strings.HasPrefix(lower, "zh-"):
				lang = chinese
			default:
				continue
			}
			if q > bestQ {
				best, bestQ = lang, q
			}
		}
		if got != best {
			t.Fatalf("%q: %v, want %v", s, got, best)
		}
	})
}
