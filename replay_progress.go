package main

import (
	"fmt"
	"os"
	"time"

	"tidegate/gateway/replay"
)

// progress shows on a terminal how far a replay is. On anything else it says only how long it took.
type progress struct {
	out      *os.File
	trace    *replay.Trace
	terminal bool
	begun    time.Time
	shown    time.Time
}

func newProgress(out *os.File, t *replay.Trace) *progress {
	p := &progress{out: out, trace: t, begun: time.Now()}
	info, err := out.Stat()
	p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	return p
}

// look shows the share of the trace, the speed and the time that is left, a few times a second.
func (p *progress) look(requests, at int64) {
	if !p.terminal {
		return
	}
	now := time.Now()
	if now.Sub(p.shown) < 200*time.Millisecond {
		return
	}
	p.shown = now
	share, took := p.trace.Progress(), now.Sub(p.begun)
	line := fmt.Sprintf("%3.0f %%  %s  %s requests/s", 100*share, time.Unix(0, at).UTC().Format("2006-01-02 15:04"), rateText(float64(requests)/took.Seconds()))
	if share > 0.01 {
		left := time.Duration(float64(took) * (1 - share) / share)
		line += fmt.Sprintf("  %v left", left.Round(time.Second))
	}
	fmt.Fprintf(p.out, "\r%-78s", line)
}

// end says how many requests there were and how long it took, which is no part of the result.
func (p *progress) end(requests int64, configs int) {
	if p.terminal {
		fmt.Fprintf(p.out, "\r%78s\r", "")
	}
	took := time.Since(p.begun)
	through := ""
	if configs > 1 {
		through = fmt.Sprintf(" through %d configs", configs)
	}
	fmt.Fprintf(p.out, "%d requests%s in %v: %s requests/s\n", requests, through, took.Round(time.Millisecond), rateText(float64(requests)/took.Seconds()))
}

func rateText(perSecond float64) string {
	switch {
	case perSecond >= 1e6:
		return fmt.Sprintf("%.2f million", perSecond/1e6)
	case perSecond >= 1e3:
		return fmt.Sprintf("%.0f thousand", perSecond/1e3)
	}
	return fmt.Sprintf("%.0f", perSecond)
}
