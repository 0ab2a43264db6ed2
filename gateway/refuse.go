package gateway

import (
	"math/bits"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/config"
)

// Refusal is what is told to a caller whose request is not served. Empty members are left out.
type Refusal struct {
	Code                   Code
	Caller, Semantic, Rule string

	Limit, Remaining int64 // of the rule's rate; said if HasLimit
	HasLimit         bool

	RetryAfter time.Duration   // when to come back; said only if the code is retryable, then at least 1 ms
	Reset      time.Duration   // until the rate, or the quota, has its cost again
	OffPeak    *config.OffPeak // when it is quiet; nil: not known

	Message   string // the rule's own words: the detail, if there are any
	Detail    string // more exact than the code's own detail
	RequestID string
}

const (
	problemType  = "application/problem+json"
	problemURN   = "urn:tidegate:problem:"
	defaultRetry = time.Second // where nothing better is known
)

var refusalBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// writeRefusal makes the answer of ctx a refusal (RFC 9457), in the language the caller asked for. If
// body bytes of the request may still be on their way, the connection is closed after the answer.
func writeRefusal(ctx *fasthttp.RequestCtx, r *Refusal) {
	lang := preferredLanguage(ctx.Request.Header.Peek(fasthttp.HeaderAcceptLanguage))
	safe := isSafe(&ctx.Request.Header)

	resp := &ctx.Response
	resp.SetStatusCode(r.Code.Status())
	h := &resp.Header
	h.SetContentType(problemType)
	h.Set(fasthttp.HeaderContentLanguage, lang.tag())
	h.Add(fasthttp.HeaderVary, fasthttp.HeaderAcceptLanguage)
	if r.Code.Status() == fasthttp.StatusUnauthorized {
		h.Set(fasthttp.HeaderWWWAuthenticate, "Bearer")
	}

	pooled := refusalBuffers.Get().(*[]byte)
	buf := *pooled
	if after, ok := r.retryAfter(safe); ok {
		buf = strconv.AppendInt(buf[:0], wholeSeconds(after), 10)
		h.SetBytesV(fasthttp.HeaderRetryAfter, buf)
	}
	buf = r.appendProblem(buf[:0], lang, safe)
	resp.SetBody(buf)
	*pooled = buf
	refusalBuffers.Put(pooled)

	if bodyOnItsWay(ctx) {
		h.SetConnectionClose()
	}
}

func isSafe(h *fasthttp.RequestHeader) bool {
	return h.IsGet() || h.IsHead() || h.IsOptions()
}

// retryAfter is when the caller may come back, and whether that makes sense. It is not earlier than the
// moment the rate has the cost again, which the RateLimit field says.
func (r *Refusal) retryAfter(safe bool) (time.Duration, bool) {
	if !r.Code.Retryable(safe) {
		return 0, false
	}
	after := max(r.RetryAfter, r.Reset)
	if after <= 0 {
		after = defaultRetry
	}
	return max(after, time.Millisecond), true
}

// appendProblem appends the problem document.
func (r *Refusal) appendProblem(dst []byte, lang language, safe bool) []byte {
	entry := &codeTable[r.Code]
	text := entry.words[lang]
	detail := text.detail
	switch {
	case r.Message != "":
		detail = r.Message
	case r.Detail != "":
		detail = r.Detail
	}

	dst = append(dst, `{"type":"`+problemURN...)
	dst = append(dst, entry.name...)
	dst = append(dst, `","title":`...)
	dst = appendJSONString(dst, text.title)
	dst = append(dst, `,"status":`...)
	dst = strconv.AppendInt(dst, int64(entry.status), 10)
	dst = append(dst, `,"detail":`...)
	dst = appendJSONString(dst, detail)
	dst = appendMember(dst, `,"instance":`, r.RequestID)
	dst = append(dst, `,"code":"`...)
	dst = append(dst, entry.name...)
	dst = append(dst, `","retryable":`...)
	after, retryable := r.retryAfter(safe)
	dst = strconv.AppendBool(dst, retryable)
	dst = appendMember(dst, `,"caller":`, r.Caller)
	dst = appendMember(dst, `,"semantic":`, r.Semantic)
	dst = appendMember(dst, `,"rule":`, r.Rule)
	if r.HasLimit {
		dst = append(dst, `,"limit":`...)
		dst = strconv.AppendInt(dst, r.Limit, 10)
		dst = append(dst, `,"remaining":`...)
		dst = strconv.AppendInt(dst, max(r.Remaining, 0), 10)
	}
	if retryable {
		dst = append(dst, `,"retry_after_ms":`...)
		dst = strconv.AppendInt(dst, wholeMillis(after), 10)
	}
	if r.Reset > 0 {
		dst = append(dst, `,"reset":`...)
		dst = strconv.AppendInt(dst, wholeSeconds(r.Reset), 10)
	}
	if r.OffPeak != nil {
		dst = append(dst, `,"off_peak":{"from":"`...)
		dst = appendClock(dst, r.OffPeak.From)
		dst = append(dst, `","to":"`...)
		dst = appendClock(dst, r.OffPeak.To)
		dst = append(dst, `"}`...)
	}
	return append(dst, '}', '\n')
}

func appendMember(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return appendJSONString(append(dst, name...), value)
}

// appendClock appends minutes after midnight as "01:30".
func appendClock(dst []byte, minutes int) []byte {
	h, m := minutes/60, minutes%60
	return append(dst, byte('0'+h/10%10), byte('0'+h%10), ':', byte('0'+m/10), byte('0'+m%10))
}

// wholeSeconds rounds up, and is at least 1: who comes back a moment early is refused again.
func wholeSeconds(d time.Duration) int64 {
	return max(roundUp(d, time.Second), 1)
}

func wholeMillis(d time.Duration) int64 {
	return max(roundUp(d, time.Millisecond), 1)
}

func roundUp(d, unit time.Duration) int64 {
	n := int64(d / unit)
	if d%unit > 0 {
		n++
	}
	return n
}

// spread lengthens d by 0 to 20 %: the same for the same seed (a caller's hash or index), different
// from caller to caller, so that those who were refused together do not return in step.
func spread(seed uint64, d time.Duration) time.Duration {
	if d <= 0 {
		return d
	}
	// splitmix64: neighbouring seeds land far apart
	z := seed + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	part, _ := bits.Mul64(z, uint64(d/5)+1)
	return d + time.Duration(part)
}
