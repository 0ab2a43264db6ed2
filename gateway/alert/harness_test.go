package alert

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const hook = "https://user:pa55word@hooks.example.com/services/T0PS3CRET?token=HUSH"

// got is one request that the receiver had.
type got struct {
	at     time.Time
	header http.Header
	body   []byte
	payload
}

// receiver is a webhook in virtual time.
type receiver struct {
	mu     sync.Mutex
	answer func(n int, r got) (*http.Response, error) // n counts from 1; nil: 200
	had    []got
}

func status(code int, field ...string) (*http.Response, error) {
	h := http.Header{}
	if len(field) == 2 {
		h.Set(field[0], field[1])
	}
	return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader("thank you"))}, nil
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	g := got{at: time.Now(), header: req.Header.Clone()}
	g.body, _ = io.ReadAll(req.Body)
	if err := json.Unmarshal(g.body, &g.payload); err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.had = append(r.had, g)
	n, answer := len(r.had), r.answer
	r.mu.Unlock()
	if answer == nil {
		return status(200)
	}
	res, err := answer(n, g)
	if res == nil && err == nil { // hangs
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	return res, err
}

func (r *receiver) all() []got {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]got(nil), r.had...)
}

// office is alerts in a bubble, what the receiver had, and what has ended.
type office struct {
	t *testing.T
	*Alerts
	receiver
	mu    sync.Mutex
	ended []View
}

func (o *office) settings() Settings {
	return Settings{URL: hook, Repeat: 10 * time.Minute, Timeout: 5 * time.Second}
}

// inOffice runs a test in virtual time.
func inOffice(t *testing.T, test func(t *testing.T, o *office)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := &office{t: t}
		o.Alerts = New(Options{From: Source{Host: "gw-1", Version: "v1"}, Transport: &o.receiver, Ended: func(v View) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.ended = append(o.ended, v)
		}})
		if err := o.Apply(o.settings()); err != nil {
			t.Fatal(err)
		}
		go o.Run()
		synctest.Wait()
		test(t, o)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		o.Close(ctx)
		synctest.Wait()
	})
}

func (o *office) begin(kind, subject string) {
	o.Begin(time.Now(), Event{Kind: kind, Subject: subject, Text: kind + " of " + subject})
}

func (o *office) end(kind, subject string) {
	o.End(time.Now(), Event{Kind: kind, Subject: subject, Text: kind + " of " + subject + " is over"})
}

// pass lets time pass, with a tick each second.
func (o *office) pass(d time.Duration) {
	for ; d > 0; d -= time.Second {
		time.Sleep(min(d, time.Second))
		o.Tick(time.Now())
	}
	synctest.Wait()
}

// told is what the receiver had, in few words.
func (o *office) told(want ...string) []got {
	o.t.Helper()
	synctest.Wait()
	all := o.all()
	said := make([]string, len(all))
	for i, g := range all {
		said[i] = g.Data.Kind + " " + g.Data.Subject
		if g.Data.Resolved {
			said[i] += " over"
		}
	}
	if strings.Join(said, "; ") != strings.Join(want, "; ") {
		o.t.Fatalf("told %q\nwant %q", said, want)
	}
	return all
}

// shown is the newest alert.
func (o *office) shown() View {
	o.t.Helper()
	_, views := o.Recent()
	if len(views) == 0 {
		o.t.Fatal("nothing is shown")
	}
	return views[0]
}
