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
	watch    stopwatch
	shown    time.Time
}

// stopwatch measures what a machine with other things to do takes for something, and what it takes of one core.
type stopwatch struct {
	begun time.Time
	cpu   time.Duration
}

func startWatch() stopwatch { return stopwatch{time.Now(), cpuTime()} }

// text is how long so many requests took, and how fast that is.
func (w stopwatch) text(requests int64) string {
	took := time.Since(w.begun)
	text := fmt.Sprintf("%v, %s requests/s", took.Round(time.Millisecond), rateText(requests, took))
	if cpu := cpuTime() - w.cpu; cpu > 0 {
		text += fmt.Sprintf("; %v of a core, %s for each second of it", cpu.Round(time.Millisecond), rateText(requests, cpu))
	}
	return text
}

func newProgress(out *os.File, t *replay.Trace) *progress {
	p := &progress{out: out, trace: t, watch: startWatch()}
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
	share, took := p.trace.Progress(), now.Sub(p.watch.begun)
	line := fmt.Sprintf("%3.0f %%  %s  %s requests/s", 100*share, time.Unix(0, at).UTC().Format("2006-01-02 15:04"), rateText(requests, took))
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
	through := ""
	if configs > 1 {
		through = fmt.Sprintf(" through %d configs", configs)
	}
	fmt.Fprintf(p.out, "%d requests%s in %s\n", requests, through, p.watch.text(requests))
}

func rateText(requests int64, in time.Duration) string {
	perSecond := float64(requests) / max(in, time.Microsecond).Seconds()
	switch {
	case perSecond >= 1e6:
		return fmt.Sprintf("%.2f million", perSecond/1e6)
	case perSecond >= 1e3:
		return fmt.Sprintf("%.0f thousand", perSecond/1e3)
	}
	return fmt.Sprintf("%.0f", perSecond)
}
