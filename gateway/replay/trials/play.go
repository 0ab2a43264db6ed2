package main

import (
	"math/rand/v2"
	"time"

	"tidegate/detector"
)

const (
	cellMS     = 100
	cellsASec  = 1000 / cellMS
	cellSecond = float64(cellMS) / 1000
)

// finding is a surge that was found.
type finding struct {
	at int64 // ms, by the trace's clock: the end of the cell with which it was found
	detector.Report
}

// player steps one flow as the gateway does: at the end of each cell, from its first arrival on, and while it is
// quiet not at all.
type player struct {
	config   *detector.Config
	flow     detector.Flow
	known    bool
	awake    bool
	findings []finding
}

// cell is told the arrivals of the cell that ends at end, in ms.
func (p *player) cell(end, arrivals int64) detector.Verdict {
	now := time.UnixMilli(end).UTC()
	if !p.awake {
		if arrivals == 0 {
			return detector.None
		}
		if !p.known {
			p.flow, p.known = detector.NewFlow(now.Add(-cellMS*time.Millisecond)), true
		}
		p.awake = true
	}
	v := p.flow.Step(p.config, now, arrivals)
	if v == detector.SurgeBegan {
		p.findings = append(p.findings, finding{end, p.flow.Report()})
	}
	if arrivals == 0 && p.flow.Quiet(now) {
		p.awake = false
	}
	return v
}

// playCells plays a caller's counts, a cell each, from start in ms on.
func playCells(c detector.Config, start int64, cells []uint16) []finding {
	p := player{config: &c}
	for _, n := range cells {
		start += cellMS
		p.cell(start, int64(n))
	}
	return p.findings
}

// playTimes plays a caller's arrivals, in ms and in their order. Cells lie on the clock's grid.
func playTimes(c detector.Config, times []int64) []finding {
	if len(times) == 0 {
		return nil
	}
	p := player{config: &c}
	end := (times[0]/cellMS + 1) * cellMS
	for i := 0; i < len(times); end += cellMS {
		if !p.awake {
			end = (times[i]/cellMS + 1) * cellMS // nothing was stepped until here
		}
		n := int64(0)
		for i < len(times) && times[i] < end {
			i, n = i+1, n+1
		}
		p.cell(end, n)
	}
	return p.findings
}

// scatter puts the arrivals of each second at independent moments in it, each equally likely.
func scatter(seconds []int32, r *rand.Rand) []uint16 {
	cells := make([]uint16, len(seconds)*cellsASec)
	for i, n := range seconds {
		second := cells[i*cellsASec : (i+1)*cellsASec]
		for range n {
			second[r.IntN(cellsASec)]++
		}
	}
	return cells
}
