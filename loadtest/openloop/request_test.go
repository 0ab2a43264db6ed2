package openloop

import (
	"testing"
	"time"
)

func TestARequestIsRenderedOnce(t *testing.T) {
	got := string(NewRequest("POST", "127.0.0.1:80", "/v1/chat/x", map[string]string{"X-Semantic": "chat", "X-API-Key": "k"}, `{"q":1}`, time.Second).Bytes)
	want := "POST /v1/chat/x HTTP/1.1\r\nHost: 127.0.0.1:80\r\nX-API-Key: k\r\nX-Semantic: chat\r\n" +
		"Content-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"q\":1}"
	if got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestAHeaderMaySayWhatTheBodyIs(t *testing.T) {
	got := string(NewRequest("PUT", "x", "/", map[string]string{"content-type": "text/plain"}, "hi", time.Second).Bytes)
	want := "PUT / HTTP/1.1\r\nHost: x\r\ncontent-type: text/plain\r\nContent-Length: 2\r\n\r\nhi"
	if got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestQueueWaitIsReadFromServerTiming(t *testing.T) {
	for _, step := range []struct {
		header string
		wait   time.Duration
		waited bool
	}{
		{"queue;dur=3", 3 * time.Millisecond, true},
		{"queue; dur=0.25", 250 * time.Microsecond, true},
		{`db;dur=9, queue;desc="x";dur="1.5"`, 1500 * time.Microsecond, true},
		{"queue;dur=0", 0, true},
		{"", 0, false},
		{"queued;dur=3", 0, false},
		{"queue", 0, false},
		{"queue;dur=-1", 0, false},
		{"queue;dur=NaN", 0, false},
		{"queue;dur=1e300", 0, false},
		{"queue;dur=x", 0, false},
	} {
		if wait, waited := queueWait([]byte(step.header)); wait != step.wait || waited != step.waited {
			t.Errorf("%q: %v %v, want %v %v", step.header, wait, waited, step.wait, step.waited)
		}
	}
}

func TestRetryAfterIsWholeSecondsFromOne(t *testing.T) {
	for header, want := range map[string]int{
		"1": 1, " 60 ": 60, "0": 0, "-3": 0, "1.5": 0, "": 0, "Wed, 21 Oct 2026 07:28:00 GMT": 0, "99999999999999999999": 0,
	} {
		if got := retryAfter([]byte(header)); got != want {
			t.Errorf("%q: %d, want %d", header, got, want)
		}
	}
}

func FuzzQueueWait(f *testing.F) {
	f.Add([]byte(`db;dur=9, queue;desc="x";dur=1.5`))
	f.Fuzz(func(t *testing.T, header []byte) {
		if wait, waited := queueWait(header); wait < 0 || (wait > 0 && !waited) {
			t.Errorf("%q: %v %v", header, wait, waited)
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	f.Add([]byte("12"))
	f.Fuzz(func(t *testing.T, header []byte) {
		if n := retryAfter(header); n < 0 {
			t.Errorf("%q: %d", header, n)
		}
	})
}
