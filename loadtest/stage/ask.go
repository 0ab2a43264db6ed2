package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"tidegate/loadtest/upstream"
)

func (s *Stage) statsURL() string { return "http://" + s.Config.Upstream + upstream.StatsPath }

// Stats decodes the upstream's counts into v.
func (s *Stage) Stats(ctx context.Context, v any) error { return fetchJSON(ctx, s.statsURL(), "", v) }

// Snapshot is the part of the gateway's read model that a scenario looks at.
type Snapshot struct {
	Surges []struct {
		Caller   string    `json:"caller"`
		Semantic string    `json:"semantic"`
		Start    time.Time `json:"start"`
	} `json:"surges"`
}

// Snapshot asks the gateway for it.
func (s *Stage) Snapshot(ctx context.Context) (snapshot Snapshot, err error) {
	err = fetchJSON(ctx, "http://"+s.Config.Admin+"/api/v1/snapshot", s.Config.secret(), &snapshot)
	return snapshot, err
}

// Metrics asks the gateway for its metrics.
func (s *Stage) Metrics(ctx context.Context) (Metrics, error) {
	text, err := fetch(ctx, "http://"+s.Config.Admin+"/metrics", s.Config.secret())
	if err != nil {
		return nil, err
	}
	return ParseMetrics(text), nil
}

func fetchJSON(ctx context.Context, url, token string, v any) error {
	text, err := fetch(ctx, url, token)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("cannot read the answer of %s: %w", url, err)
	}
	return nil
}

// fetch is a GET that wants a 200 within 5 s; a token is sent where there is one.
func fetch(ctx context.Context, url, token string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<20))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", url, err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s: %.300s", url, answer.Status, text)
	}
	return text, nil
}
