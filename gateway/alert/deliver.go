package alert

import (
	"context"
	"fmt"
	"time"
)

// Run sends what is to be sent until Close. It is to be called once.
func (a *Alerts) Run() {
	a.running.Store(true)
	defer close(a.done)
	defer a.sender.client.CloseIdleConnections()
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-a.stop:
			a.flush()
			return
		default:
		}
		e, at := a.due(time.Now())
		if e != nil {
			a.deliver(e)
			continue
		}
		again.Stop()
		if !at.IsZero() {
			again.Reset(time.Until(at))
		}
		select {
		case <-a.stop:
		case <-a.wake:
		case <-again.C:
		}
	}
}

// due is the alert to be sent now, or when there may be one.
func (a *Alerts) due(now time.Time) (*entry, time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.settings.URL == "" || len(a.queue.pending) == 0 {
		return nil, time.Time{}
	}
	if now.Before(a.paused) {
		return nil, a.paused
	}
	e, at := a.queue.due(now)
	if e != nil {
		if e.under = true; e.first.IsZero() {
			e.first = now
		}
	}
	return e, at
}

// flush sends what was not tried yet, or is due, before the end.
func (a *Alerts) flush() {
	for a.sending.Err() == nil {
		e, _ := a.due(time.Now())
		if e == nil {
			return
		}
		a.deliver(e)
	}
}

// deliver makes an attempt with an alert that due has given.
func (a *Alerts) deliver(e *entry) {
	r := a.attempt(a.sending, e)
	now := time.Now()
	a.mu.Lock()
	e.under = false
	e.Attempts++
	if r.err == nil {
		e.Status, e.Error, e.SentAt = StatusSent, "", new(now.Round(0))
		a.worksLocked()
	} else {
		e.Error = r.err.Error()
		at, ok := e.retry(now, r.after)
		if e.next = at; r.final || !ok {
			e.Status = StatusFailed
		}
		if r.after > 0 {
			a.paused = now.Add(r.after) // it is the receiver who asks, whatever it was sent
		}
		a.failsLocked(now, e)
	}
	ended := e.Status != StatusPending
	if ended {
		a.queue.remove(e)
		e.body = nil
	}
	v := e.View
	a.mu.Unlock()
	if ended {
		a.options.Ended(v)
	}
}

// attempt sends an alert as the settings say now.
func (a *Alerts) attempt(ctx context.Context, e *entry) result {
	a.mu.Lock()
	s, secret := a.settings, a.secret
	a.mu.Unlock()
	if s.SecretFile != "" && secret == nil {
		var err error
		if secret, err = secretOf(s.SecretFile); err != nil {
			return result{err: fmt.Errorf("cannot read the secret that alerts are signed with: %w", err)}
		}
	}
	return a.sender.send(ctx, s.URL, secret, e.ID, e.body, s.Timeout)
}

func (a *Alerts) worksLocked() { a.failing, a.failures, a.err = time.Time{}, 0, nil }

// failsLocked notes a failed attempt. One alone is no trouble, since another will be made.
func (a *Alerts) failsLocked(now time.Time, e *entry) {
	if a.failures++; a.failures == 1 {
		a.failing = now
	}
	if a.failures > 1 || e.Status == StatusFailed {
		a.err = fmt.Errorf("alerts do not arrive: %s", e.Error)
	}
}

// Test tells the webhook that by has tried it, waits for its answer, at most for the timeout, and makes no second attempt.
// The error is ErrNoWebhook or ErrBusy.
func (a *Alerts) Test(now time.Time, by string) (View, error) {
	a.mu.Lock()
	switch {
	case a.settings.URL == "":
		a.mu.Unlock()
		return View{}, ErrNoWebhook
	case a.testing || !a.tested.IsZero() && now.Sub(a.tested) < testEvery:
		a.mu.Unlock()
		return View{}, ErrBusy
	}
	a.testing = true
	e := newEntry(now, Event{Kind: Test, Subject: by, Text: fmt.Sprintf("%s tries whether alerts arrive. They do.", by)}, now, false)
	e.Status = StatusPending
	e.encode(a.options.From)
	a.showLocked(e)
	a.mu.Unlock()

	r := a.attempt(a.sending, e)

	now = time.Now()
	a.mu.Lock()
	a.testing, a.tested = false, now
	e.Attempts = 1
	if r.err == nil {
		e.Status, e.SentAt = StatusSent, new(now.Round(0))
		a.worksLocked()
	} else {
		e.Status, e.Error = StatusFailed, r.err.Error()
	}
	v := e.View
	a.mu.Unlock()
	a.options.Ended(v)
	return v, nil
}

// Close sends what was not tried yet, for as long as ctx lets it, and ends Run. It returns how many alerts are not sent.
func (a *Alerts) Close(ctx context.Context) (unsent int) {
	a.closing.Do(func() { close(a.stop) })
	if a.running.Load() {
		select {
		case <-a.done:
		case <-ctx.Done():
		}
	}
	a.cut()
	return a.Pending()
}
