package openloop

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Request is what one sender sends, each time the same bytes: nothing is built while the run lasts.
type Request struct {
	Bytes   []byte
	Timeout time.Duration // from the moment of sending to the last byte of the answer
}

// NewRequest renders an HTTP/1.1 request. Headers are written in the order of their names; a body, if
// there is one, is sent as JSON unless a header says what it is.
func NewRequest(method, host, path string, headers map[string]string, body string, timeout time.Duration) Request {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, host)
	names, typed := make([]string, 0, len(headers)), false
	for name := range headers {
		names = append(names, name)
		typed = typed || strings.EqualFold(name, "Content-Type")
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%s: %s\r\n", name, headers[name])
	}
	if body != "" {
		if !typed {
			b.WriteString("Content-Type: application/json\r\n")
		}
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n")
	b.WriteString(body)
	return Request{Bytes: b.Bytes(), Timeout: timeout}
}

// queueWait finds the time in the queue in a Server-Timing header: the dur of its metric "queue", in
// milliseconds. It is absent when the request did not wait.
func queueWait(header []byte) (wait time.Duration, waited bool) {
	for metric := range bytes.SplitSeq(header, []byte(",")) {
		name, params, _ := bytes.Cut(metric, []byte(";"))
		if string(bytes.TrimSpace(name)) != "queue" {
			continue
		}
		for param := range bytes.SplitSeq(params, []byte(";")) {
			key, value, _ := bytes.Cut(param, []byte("="))
			if string(bytes.TrimSpace(key)) != "dur" {
				continue
			}
			ms, err := strconv.ParseFloat(string(bytes.Trim(value, " \"")), 64)
			if err != nil || !(ms >= 0 && ms < 1e9) {
				return 0, false
			}
			return time.Duration(ms * float64(time.Millisecond)), true
		}
	}
	return 0, false
}

// retryAfter reads a Retry-After header in whole seconds. 0 says that there is none that a client could
// follow: absent, a date, a fraction, or below 1.
func retryAfter(header []byte) int {
	n, err := strconv.Atoi(string(bytes.TrimSpace(header)))
	if err != nil || n < 1 {
		return 0
	}
	return n
}
