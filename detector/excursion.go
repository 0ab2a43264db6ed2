package detector

import "time"

// excursion is a rise under way, from the first evidence on until it is known what it was.
type excursion struct {
	began, shown int64 // ns since the flow's origin: its first evidence; the last
	height       float32
	bin          uint8
	phase        phase
}

type phase uint8

const (
	none    phase = iota
	unknown       // whether it will last
	told          // it lasted; or it passed in a surge that goes on. The next excursion is after it
)

// passed is for how long an excursion must not show to be over.
const passed = 3 * time.Second

// watch follows an excursion, by the evidence at all lengths and whether it still shows.
func (f *Flow) watch(c *Config, score float64, shows bool) {
	x := &f.excursion
	if shows {
		x.shown = f.end
	}
	switch x.phase {
	case none:
		if score >= noted && f.Rate() >= c.MinRate {
			*x = excursion{began: f.end, shown: f.end, height: float32(score), bin: f.season.habits.bin, phase: unknown}
		}
	case unknown:
		x.height = max(x.height, float32(score))
		switch {
		case x.shown-x.began >= int64(burstLasts):
			f.season.habits.onset(x.bin)
			f.need(c)
			x.phase = told
		case f.end-x.shown > int64(passed) && score < noted:
			f.season.habits.blip(x.bin, float64(x.height))
			f.need(c)
			x.phase = none
			if f.Surging() {
				x.phase = told
			}
		}
	case told: // during a surge nothing needs to be asked
		if !f.Surging() && f.end-x.shown > int64(c.Hold) && score < noted {
			x.phase = none
		}
	}
}

// need reckons what an excursion must bring now.
func (f *Flow) need(c *Config) { f.needed = float32(f.season.habits.needed(c.Odds)) }
