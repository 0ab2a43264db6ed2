package alert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type answer = func(n int, r got) (*http.Response, error)

func refuses(int, got) (*http.Response, error) { return status(503) }
func hangs(int, got) (*http.Response, error)   { return nil, nil }

func TestAnAttemptThatFailsIsMadeAgainForAboutAnHour(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.answer = refuses
		o.begin(Surge, "a/chat")
		o.pass(2 * time.Hour)
		all := o.all()
		if len(all) < 12 || len(all) > 16 {
			t.Fatalf("%d attempts", len(all))
		}
		for i := range all[1:] {
			pause, want := all[i+1].at.Sub(all[i].at), min(firstPause<<i, longestPause)
			if pause < want*8/10 || pause > want*12/10+time.Second {
				t.Errorf("attempt %d comes %v after the one before, want about %v", i+2, pause, want)
			}
			if all[i+1].header.Get("Webhook-Id") != all[0].header.Get("Webhook-Id") || !bytes.Equal(all[i+1].body, all[0].body) {
				t.Errorf("attempt %d is another alert", i+2)
			}
			if all[i+1].header.Get("Webhook-Timestamp") != fmt.Sprint(all[i+1].at.Unix()) {
				t.Errorf("attempt %d says %s", i+2, all[i+1].header.Get("Webhook-Timestamp"))
			}
		}
		if last := all[len(all)-1].at.Sub(all[0].at); last < 40*time.Minute || last > time.Hour {
			t.Errorf("the last is made after %v", last)
		}
		if v := o.shown(); v.Status != StatusFailed || v.Attempts != len(all) || v.Error != "answered 503" || v.SentAt != nil {
			t.Errorf("%+v", v)
		}
		since, err := o.Trouble()
		if err == nil || err.Error() != "alerts do not arrive: answered 503" || !since.Equal(all[0].at) {
			t.Errorf("%v since %v", err, since)
		}
		o.answer = nil
		o.end(Surge, "a/chat")
		synctest.Wait()
		if _, err := o.Trouble(); err != nil || o.Pending() != 0 {
			t.Errorf("%v, %d pending", err, o.Pending())
		}
	})
}

func TestWhatAnAnswerMeans(t *testing.T) {
	for _, c := range []struct {
		name     string
		answer   answer
		attempts int // within ten seconds; the second one is taken
		error    string
	}{
		{"accepted", func(int, got) (*http.Response, error) { return status(202) }, 1, ""},
		{"a fault of the receiver", func(int, got) (*http.Response, error) { return status(500) }, 2, "answered 500"},
		{"too many requests", func(int, got) (*http.Response, error) { return status(429) }, 2, "answered 429"},
		{"nobody there", func(int, got) (*http.Response, error) { return nil, errors.New("connection refused") }, 2, "connection refused"},
		{"no answer", hangs, 2, "no answer within 5s"},
		{"unknown", func(int, got) (*http.Response, error) { return status(404) }, 1, "answered 404"},
		{"gone", func(int, got) (*http.Response, error) { return status(410) }, 1, "answered 410"},
		{"elsewhere", func(int, got) (*http.Response, error) { return status(307, "Location", hook+"/other") }, 1, "answered 307: redirects are not followed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inOffice(t, func(t *testing.T, o *office) {
				o.answer = func(n int, r got) (*http.Response, error) {
					if n > 1 {
						return status(200)
					}
					return c.answer(n, r)
				}
				o.begin(Surge, "a/chat")
				o.pass(time.Second)
				o.pass(5 * time.Second)
				if v := o.shown(); c.error != "" && v.Error != c.error && v.Status != StatusSent {
					t.Errorf("%+v", v)
				}
				o.pass(4 * time.Second)
				v := o.shown()
				taken := c.error == "" || c.attempts == 2
				if len(o.all()) != c.attempts || (v.Status == StatusSent) != taken || !taken && v.Error != c.error {
					t.Errorf("%d attempts: %+v", len(o.all()), v)
				}
			})
		})
	}
}

func TestRetryAfterIsHeeded(t *testing.T) {
	for _, c := range []struct {
		field string
		wait  time.Duration // at least, and a pause of ours more at most
		taken bool
	}{
		{"120", 2 * time.Minute, true},
		{"0", 0, true},
		{"-5", 0, true},
		{"soon", 0, true},
		{"99999999999999", 0, false}, // later than anybody waits
		{"date", 5 * time.Minute, true},
	} {
		t.Run(c.field, func(t *testing.T) {
			inOffice(t, func(t *testing.T, o *office) {
				field := c.field
				if field == "date" {
					field = time.Now().Add(c.wait).UTC().Format(http.TimeFormat)
				}
				o.answer = func(n int, _ got) (*http.Response, error) {
					if n == 1 {
						return status(429, "Retry-After", field)
					}
					return status(200)
				}
				o.begin(Surge, "a/chat")
				o.pass(time.Second)
				o.begin(Surge, "b/chat") // another one has to wait as well
				o.pass(10 * time.Minute)
				all := o.all()
				if !c.taken {
					if _, views := o.Recent(); len(all) != 1 || views[1].Status != StatusFailed {
						t.Errorf("%d attempts: %+v", len(all), views[1])
					}
					return
				}
				if len(all) != 3 {
					t.Fatalf("%d attempts", len(all))
				}
				for _, g := range all[1:] {
					if wait := g.at.Sub(all[0].at); wait < c.wait || wait > c.wait+4*time.Second {
						t.Errorf("tried again after %v", wait)
					}
				}
			})
		})
	}
}

// What one receiver cannot take holds up nothing else, and the end of something is not told before its beginning.
func TestOneThatFailsHoldsUpOnlyItsOwnEnd(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.answer = func(_ int, r got) (*http.Response, error) {
			if r.Data.Subject == "poison" && !r.Data.Resolved && time.Since(r.Data.Since) < 10*time.Second {
				return status(500)
			}
			return status(200)
		}
		o.begin(Surge, "poison")
		synctest.Wait()
		o.end(Surge, "poison")
		o.begin(Surge, "good")
		o.told("surge poison", "surge good")
		o.pass(time.Minute)
		o.told("surge poison", "surge good", "surge poison", "surge poison", "surge poison", "surge poison over")
	})
}

func TestAReceiverThatHangsHoldsNobody(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.answer = hangs
		began := time.Now()
		for i := range 50 {
			o.begin(Surge, fmt.Sprint(i))
			o.end(Surge, fmt.Sprint(i))
			o.Recent()
			o.Tick(time.Now())
		}
		if time.Since(began) != 0 || o.Pending() != 100 {
			t.Errorf("it took %v, and %d are pending", time.Since(began), o.Pending())
		}
		synctest.Wait()
	})
}

// A full queue gives up first what says that something is over.
func TestTheQueueIsBounded(t *testing.T) {
	var q queue
	make := func(i int, resolved bool) *entry {
		return &entry{View: View{Kind: Surge, Subject: fmt.Sprint(i), Resolved: resolved}}
	}
	for i := range mostPending {
		if q.add(make(i, i == 7 || i == 500)) != nil {
			t.Fatal("given up too early")
		}
	}
	q.pending[0].under = true
	for _, want := range []string{"7", "500", "1", "2"} {
		if gone := q.add(make(mostPending, false)); gone == nil || gone.Subject != want || len(q.pending) != mostPending {
			t.Errorf("given up %+v, want %s; %d are left", gone, want, len(q.pending))
		}
	}

	inOffice(t, func(t *testing.T, o *office) {
		o.answer = hangs
		o.begin(Surge, "on its way")
		synctest.Wait()
		o.Alerts.mu.Lock()
		for i := range mostPending {
			o.queue.add(make(i, false))
		}
		o.Alerts.mu.Unlock()
		o.begin(Surge, "one more")
		if len(o.ended) != 1 || o.ended[0].Status != StatusFailed || o.ended[0].Error == "" {
			t.Errorf("ended %+v", o.ended)
		}
	})
}

// Nothing that may be secret of the address is in an error, whoever words it.
func TestNoErrorHasTheAddress(t *testing.T) {
	secrets := []string{"T0PS3CRET", "HUSH", "pa55word", "user"}
	clean := func(text string) {
		t.Helper()
		for _, s := range secrets {
			if strings.Contains(text, s) {
				t.Errorf("%q has %s", text, s)
			}
		}
		if text == "" || strings.ContainsAny(text, "\n\r\x00") || len(text) > mostError {
			t.Errorf("%q", text)
		}
	}
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			buffer := [512]byte{}
			n, _ := c.Read(buffer[:])
			_, _ = c.Write(append([]byte("no HTTP: "), buffer[:n]...))
			c.Close()
		}
	}()
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, to := range []string{
		"http://user:pa55word@" + echo.Addr().String() + "/services/T0PS3CRET?token=HUSH",
		strings.Replace(closed.URL, "//", "//user:pa55word@", 1) + "/services/T0PS3CRET?token=HUSH",
		"http://user:pa55word@tidegate.invalid/T0PS3CRET?token=HUSH",
		"http://user:pa55word@127.0.0.1:99999/T0PS3CRET?token=HUSH",
		"http://user:pa55word@[::1/T0PS3CRET?token=HUSH\n",
	} {
		r := newSender(nil, "v1").send(t.Context(), to, nil, "id", []byte("{}"), 2*time.Second)
		if r.err == nil {
			t.Errorf("%s was taken", to)
			continue
		}
		clean(r.err.Error())
	}
}

// Over a real connection: the secret and the body arrive, a redirect is not followed, and an answer without end is not read to it.
func TestARealReceiver(t *testing.T) {
	var path, signature string
	elsewhere := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		path, signature = r.URL.RequestURI(), r.Header.Get("Webhook-Signature")
		var at int64
		fmt.Sscan(r.Header.Get("Webhook-Timestamp"), &at)
		if signature != sign([]byte("key"), r.Header.Get("Webhook-Id"), at, body) || string(body) != `{"a":1}` {
			t.Errorf("%s of %s", signature, body)
		}
		switch r.URL.Path {
		case "/elsewhere":
			elsewhere++
		case "/moved":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 4096)); err != nil {
					return
				}
			}
		}
	}))
	defer server.Close()
	s := newSender(nil, "v1")
	send := func(to string) result {
		return s.send(context.Background(), server.URL+to, []byte("key"), "alert_1", []byte(`{"a":1}`), 10*time.Second)
	}
	if r := send("/hook?x=1"); r.err != nil || path != "/hook?x=1" {
		t.Errorf("%v at %s", r.err, path)
	}
	if r := send("/moved"); r.err == nil || !r.final || elsewhere != 0 {
		t.Errorf("%+v, %d times elsewhere", r, elsewhere)
	}
	if r := send("/endless"); r.err != nil {
		t.Error(r.err)
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"", "1", "-1", "99999999999999999999", "Mon, 30 Nov 2026 09:00:00 GMT", "1.5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, field string) {
		if d := retryAfter(field); d < 0 || d > giveUpAfter+time.Second {
			t.Errorf("%q is %v", field, d)
		}
	})
}
