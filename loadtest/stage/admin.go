package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Admin is a gateway's operators' listener, by its contract. It is safe for concurrent use.
type Admin struct {
	Address string // host:port
	client  http.Client
}

// NewAdmin keeps connections of its own, so that a gateway that was killed leaves none to the next.
func NewAdmin(address string) *Admin {
	return &Admin{Address: address, client: http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: 2, DisableCompression: true},
	}}
}

// Changed is the answer to a change.
type Changed struct {
	Version int    `json:"version"`
	Hash    string `json:"hash"`
	Changed bool   `json:"changed"`
}

// Version is an entry in the list of versions.
type Version struct {
	Version int       `json:"version"`
	Time    time.Time `json:"time"`
	Actor   string    `json:"actor"`
	Source  string    `json:"source"`
	Hash    string    `json:"hash"`
}

// Refused is an answer of the operators' listener other than 200.
type Refused struct {
	Status int
	Text   string
}

func (r *Refused) Error() string { return fmt.Sprintf("status %d: %.300s", r.Status, r.Text) }

// ConfigText is the config file in force and its entity tag.
func (a *Admin) ConfigText(ctx context.Context) (text []byte, etag string, err error) {
	text, header, err := a.do(ctx, http.MethodGet, "/api/v1/config", nil, nil)
	return text, header.Get("ETag"), err
}

// PutConfig makes text the config file, if etag is still that of the one in force.
func (a *Admin) PutConfig(ctx context.Context, etag string, text []byte) (changed Changed, next string, err error) {
	answer, header, err := a.do(ctx, http.MethodPut, "/api/v1/config", text, map[string]string{"If-Match": etag, "Content-Type": "application/toml"})
	if err != nil {
		return Changed{}, "", err
	}
	return changed, header.Get("ETag"), json.Unmarshal(answer, &changed)
}

// Versions are those that are kept, newest first.
func (a *Admin) Versions(ctx context.Context) (versions []Version, err error) {
	answer, _, err := a.do(ctx, http.MethodGet, "/api/v1/config/versions", nil, nil)
	if err != nil {
		return nil, err
	}
	return versions, json.Unmarshal(answer, &versions)
}

// Override is a value that an operator has set above the file, and why it does not act, if it does not.
type Override struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Aside string `json:"aside"`
}

// Overrides are those that are kept.
func (a *Admin) Overrides(ctx context.Context) (overrides []Override, err error) {
	answer, _, err := a.do(ctx, http.MethodGet, "/api/v1/overrides", nil, nil)
	if err != nil {
		return nil, err
	}
	return overrides, json.Unmarshal(answer, &overrides)
}

// SetOverride makes an override.
func (a *Admin) SetOverride(ctx context.Context, name, value, reason string) (changed Changed, err error) {
	body, err := json.Marshal(map[string]string{"name": name, "value": value, "reason": reason})
	if err != nil {
		return Changed{}, err
	}
	answer, _, err := a.do(ctx, http.MethodPost, "/api/v1/overrides", body, map[string]string{"Content-Type": "application/json"})
	if err != nil {
		return Changed{}, err
	}
	return changed, json.Unmarshal(answer, &changed)
}

// DropOverride ends an override.
func (a *Admin) DropOverride(ctx context.Context, name string) (changed Changed, err error) {
	answer, _, err := a.do(ctx, http.MethodDelete, "/api/v1/overrides?name="+url.QueryEscape(name), nil, nil)
	if err != nil {
		return Changed{}, err
	}
	return changed, json.Unmarshal(answer, &changed)
}

// Metrics are the gateway's.
func (a *Admin) Metrics(ctx context.Context) (Metrics, error) {
	text, _, err := a.do(ctx, http.MethodGet, "/metrics", nil, nil)
	return ParseMetrics(text), err
}

// CollectGarbage makes the gateway free what it no longer needs: a heap profile can ask for that.
func (a *Admin) CollectGarbage(ctx context.Context) error {
	for range 2 { // what the first one finalizes, the second one frees
		if _, _, err := a.do(ctx, http.MethodGet, "/debug/pprof/heap?gc=1", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// do makes a request; an answer other than 200 is a *Refused. The header is never nil.
func (a *Admin) do(ctx context.Context, method, path string, body []byte, fields map[string]string) ([]byte, http.Header, error) {
	var content io.Reader // nil, not an empty reader: a request without a body has no Content-Length
	if body != nil {
		content = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+a.Address+path, content)
	if err != nil {
		return nil, http.Header{}, err
	}
	for name, value := range fields {
		request.Header.Set(name, value)
	}
	answer, err := a.client.Do(request)
	if err != nil {
		return nil, http.Header{}, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<20))
	switch {
	case err != nil:
		return nil, answer.Header, fmt.Errorf("cannot read the answer to %s %s: %w", method, path, err)
	case answer.StatusCode != http.StatusOK:
		return nil, answer.Header, &Refused{Status: answer.StatusCode, Text: string(text)}
	}
	return text, answer.Header, nil
}
