package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// windowCost is what the window of a caller holds: that many requests in ten minutes, and not one more.
const windowCost = 100

// saveWithin is the time in which what a window has counted is on disk. What was granted later before a kill may be
// forgotten by it, and so granted once more.
const saveWithin = 7 * time.Second

func windowCaller(round int) string { return fmt.Sprintf("window-%03d", round) }

// windowRound is what one caller was granted of its window before a kill and after it.
type windowRound struct {
	caller    string
	before    int         // granted before the kill
	recent    int         // of them in the last saveWithin
	after     int         // granted after it
	unsure    bool        // one was under way
	grants    []time.Time // of before
	unplanned string      // an answer that is neither a grant nor the window's refusal
}

// spend uses up a part of the window, and every other time waits until it must be on disk.
func (c *crashed) spend(ctx context.Context, w *windowRound) error {
	for range 20 + c.rng.IntN(41) {
		granted, err := c.ask(ctx, w)
		if err != nil {
			return err
		}
		if !granted {
			w.unplanned = cmp.Or(w.unplanned, fmt.Sprintf("refused after %d of %d", len(w.grants), windowCost))
			break
		}
		w.grants = append(w.grants, time.Now())
	}
	wait := saveWithin + 500*time.Millisecond
	if len(c.windows)%2 == 0 {
		wait = time.Duration(c.rng.Int64N(int64(time.Second)))
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// spendOn goes on, some twenty a second, until nobody answers.
func (c *crashed) spendOn(ctx context.Context, w *windowRound) error {
	for {
		granted, err := c.ask(ctx, w)
		if err != nil {
			w.unsure = true
			return nil
		}
		if granted {
			w.grants = append(w.grants, time.Now())
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil
		}
	}
}

// spendRest takes all that the window still gives.
func (c *crashed) spendRest(ctx context.Context, w *windowRound, killed time.Time) error {
	w.before = len(w.grants)
	for _, at := range w.grants {
		if killed.Sub(at) < saveWithin {
			w.recent++
		}
	}
	for range 2 * windowCost {
		granted, err := c.ask(ctx, w)
		if err != nil {
			return err
		}
		if !granted {
			break
		}
		w.after++
	}
	return nil
}

// ask sends one request of the caller. The error says that there was no answer.
func (c *crashed) ask(ctx context.Context, w *windowRound) (granted bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.stage.Address+"/v1/metered/x", nil)
	if err != nil {
		return false, err
	}
	request.Header.Set("X-API-Key", "crash-"+w.caller)
	request.Close = true // the next may meet another process
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	switch {
	case err != nil:
		return false, err
	case answer.StatusCode == http.StatusOK:
		return true, nil
	case answer.StatusCode != http.StatusTooManyRequests || !strings.Contains(string(text), `"rate_exceeded"`):
		w.unplanned = fmt.Sprintf("status %d: %.200s", answer.StatusCode, text)
	}
	return false, nil
}

// kept says whether the window was kept over the kill: no more granted in all than it holds, but for what was
// granted too late before the kill to be on disk; and nothing taken away from what was left, but for one that was
// under way.
func (w *windowRound) kept() bool {
	left, spare := windowCost-w.before, 0
	if w.unsure {
		spare = 1
	}
	return w.unplanned == "" && w.after <= left+w.recent && w.after >= left-spare
}

func (w *windowRound) String() string {
	s := fmt.Sprintf("%s: %d granted before the kill, %d of them in the last %v, %d after it, of %d", w.caller, w.before, w.recent, saveWithin, w.after, windowCost)
	if w.unplanned != "" {
		s += "; " + w.unplanned
	}
	return s
}
