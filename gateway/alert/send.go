package alert

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	mostAnswer = 16 << 10 // bytes of an answer that are read, so that its connection can be used again
	mostError  = 200
	mostSecret = 4 << 10
)

// sender makes single attempts.
type sender struct {
	client http.Client
	agent  string
}

func newSender(transport http.RoundTripper, version string) *sender {
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost, t.MaxResponseHeaderBytes = 1, 64<<10
		transport = t
	}
	return &sender{
		agent: "tidegate/" + version,
		client: http.Client{
			Transport: transport,
			// Another place than the one that was configured is not told.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// result is what came of an attempt.
type result struct {
	err   error         // nil: it was taken
	final bool          // another attempt would fare no better
	after time.Duration // the receiver wants no other one sooner
}

// send makes one attempt. No error has more of the URL than its host.
func (s *sender) send(ctx context.Context, to string, secret []byte, id string, body []byte, timeout time.Duration) result {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return result{err: errors.New("the webhook's address cannot be used"), final: true}
	}
	at := time.Now().Unix()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", s.agent)
	req.Header.Set("Webhook-Id", id)
	req.Header.Set("Webhook-Timestamp", strconv.FormatInt(at, 10))
	if secret != nil {
		req.Header.Set("Webhook-Signature", sign(secret, id, at, body))
	}
	answer, err := s.client.Do(req)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
			return result{err: fmt.Errorf("no answer within %v", timeout)}
		}
		return result{err: errors.New(without(err, to))}
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, mostAnswer)) // what it says is of no use to us
	code := answer.StatusCode
	switch {
	case code >= 200 && code < 300:
		return result{}
	case code >= 300 && code < 400:
		return result{err: fmt.Errorf("answered %d: redirects are not followed", code), final: true}
	case code == http.StatusTooManyRequests || code >= 500:
		return result{err: fmt.Errorf("answered %d", code), after: retryAfter(answer.Header.Get("Retry-After"))}
	}
	return result{err: fmt.Errorf("answered %d", code), final: true}
}

// sign is the signature of the Standard Webhooks scheme.
func sign(secret []byte, id string, at int64, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%d.", id, at)
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// retryAfter reads the field: seconds or a date. What is neither asks for nothing.
func retryAfter(field string) time.Duration {
	if s, err := strconv.ParseInt(field, 10, 64); err == nil {
		return time.Duration(min(max(s, 0), int64(giveUpAfter/time.Second)+1)) * time.Second
	}
	at, err := http.ParseTime(field)
	if err != nil {
		return 0
	}
	return min(max(time.Until(at), 0), giveUpAfter+time.Second)
}

// without is an error's text without what may be secret of the URL, on one line and short.
func without(err error, to string) string {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err // the URL stands before it
	}
	text := err.Error()
	secrets := []string{to}
	if u, err := url.Parse(to); err == nil {
		// A receiver that echoes what it was sent is quoted where it does not speak HTTP.
		secrets = append(secrets, u.RequestURI(), u.EscapedPath(), u.Path, u.RawQuery)
		if u.User != nil {
			password, _ := u.User.Password()
			secrets = append(secrets, u.User.String(), u.User.Username(), password)
		}
	}
	for _, s := range secrets {
		if len(s) > 1 {
			text = strings.ReplaceAll(text, s, "...")
		}
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	return head(text, mostError)
}

// secretOf reads the secret that payloads are signed with: the bytes of a file without the white space around them, or what
// they mean in base64 if they begin with "whsec_", as receivers of this scheme hand them out.
func secretOf(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > mostSecret {
		return nil, fmt.Errorf("it is no file of at most %d bytes", mostSecret)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSpace(text)
	if encoded, ok := bytes.CutPrefix(text, []byte("whsec_")); ok {
		if text, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(string(encoded), "=")); err != nil {
			return nil, errors.New(`what follows "whsec_" is not base64`)
		}
	}
	if len(text) == 0 {
		return nil, errors.New("it is empty")
	}
	return text, nil
}
