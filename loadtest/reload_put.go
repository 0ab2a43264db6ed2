package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"tidegate/loadtest/stage"
)

// putGap is the time between two changed configs.
const putGap = 100 * time.Millisecond

// put is one changed config, sent.
type put struct {
	At      time.Duration // since the schedule's zero
	Took    time.Duration
	Version int
	Err     error
	removed bool // the semantic digest, which was there before
}

// putter sends changed configs one after another.
type putter struct {
	admin  *stage.Admin
	config func(n int) stage.Config // of a step
	base   stage.Config             // for what a scenario does not decide: addresses and directories
	last   int                      // step in force
	puts   []put
}

// render is the config of a step as text.
func (p *putter) render(n int) ([]byte, error) {
	c := p.config(n)
	c.Listen, c.Admin, c.StateDir, c.Upstream = p.base.Listen, p.base.Admin, p.base.StateDir, p.base.Upstream
	var text bytes.Buffer
	err := c.Write(&text)
	return text.Bytes(), err
}

// send brings a step's config into force the way an operator's program does: look, change, write if nobody else did.
func (p *putter) send(ctx context.Context, zero time.Time, n int) {
	began := time.Now()
	version, err := p.exchange(ctx, n)
	p.puts = append(p.puts, put{
		At: began.Sub(zero), Took: time.Since(began), Version: version, Err: err,
		removed: digestGone(n) && !digestGone(p.last),
	})
	if err == nil {
		p.last = n
	}
}

func (p *putter) exchange(ctx context.Context, n int) (version int, err error) {
	text, err := p.render(n)
	if err != nil {
		return 0, err
	}
	running, etag, err := p.admin.ConfigText(ctx)
	if err != nil {
		return 0, fmt.Errorf("cannot read the config: %w", err)
	}
	if before, err := p.render(p.last); err != nil || !bytes.Equal(running, before) {
		return 0, errors.Join(err, fmt.Errorf("the config that is in force is not the one of step %d, which was put last", p.last))
	}
	changed, _, err := p.admin.PutConfig(ctx, etag, text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("cannot put the config of step %d: %w", n, err)
	case !changed.Changed:
		return changed.Version, fmt.Errorf("the config of step %d is said to change nothing", n)
	}
	return changed.Version, nil
}

// run sends the steps from first on through a span, one each putGap, and the config of step 0 in the end.
func (p *putter) run(ctx context.Context, zero time.Time, from, to time.Duration, first int) (next int) {
	steps := int((to - from) / putGap)
	for i := range steps {
		if wait := time.Until(zero.Add(from + time.Duration(i)*putGap)); wait > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return first
			}
		}
		if time.Since(zero) >= to-putGap/2 { // too slow: the block ends all the same
			break
		}
		if i == steps-1 {
			break
		}
		p.send(ctx, zero, first)
		first++
	}
	p.send(ctx, zero, 0)
	return first
}
