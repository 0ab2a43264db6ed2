package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// pageSeen is what one open page was given.
type pageSeen struct {
	Snapshots int
	Bytes     int64 // of the stream
	Oldest    time.Duration
	Lists     int // of callers
	SlowestMS float64
	Err       error
}

// lookAt is a page that is open until then: it listens to the stream and, once a second, asks for the callers that its
// window shows, as the page does.
func lookAt(ctx context.Context, admin string, until time.Time, flows, number, pages int) (seen pageSeen) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	// Pages that people open do not ask in step.
	select {
	case <-time.After(time.Duration(number) * time.Second / time.Duration(pages)):
	case <-ctx.Done():
		return seen
	}
	var both sync.WaitGroup
	var lists pageSeen
	both.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for offset := number * 37; ; offset += 997 {
			began := time.Now()
			if err := readAll(ctx, fmt.Sprintf("http://%s/api/v1/callers?limit=40&offset=%d", admin, offset%flows)); err != nil {
				lists.Err = err
				return
			}
			lists.Lists++
			lists.SlowestMS = max(lists.SlowestMS, float64(time.Since(began).Microseconds())/1000)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	seen.Err = listen(ctx, "http://"+admin+"/api/v1/stream", func(data []byte) error {
		var snapshot struct {
			Time       time.Time `json:"time"`
			FlowsTotal int       `json:"flows_total"`
		}
		if err := json.Unmarshal(data, &snapshot); err != nil {
			return err
		}
		seen.Snapshots++
		seen.Bytes += int64(len(data))
		seen.Oldest = max(seen.Oldest, time.Since(snapshot.Time))
		return nil
	})
	both.Wait()
	seen.Lists, seen.SlowestMS = lists.Lists, lists.SlowestMS
	seen.Err = errors.Join(ended(ctx, seen.Err), ended(ctx, lists.Err))
	return seen
}

// ended is nil for what went wrong because the page was closed.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// listen reads server-sent events until ctx ends, and shows the data of each.
func listen(ctx context.Context, url string, each func(data []byte) error) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, a.Status)
	}
	lines := bufio.NewReaderSize(a.Body, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			if err := each([]byte(strings.TrimSpace(data))); err != nil {
				return fmt.Errorf("cannot read an event of %s: %w", url, err)
			}
		}
	}
}

func readAll(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	_, err = io.Copy(io.Discard, a.Body)
	if err == nil && a.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", url, a.Status)
	}
	return err
}
