package detector

import (
	"math"
	"time"
)

// noted is the score from which on an excursion is noted, in nats: what it turned out to be decides how much evidence
// the next one must bring.
const noted = 8

// UsualOdds is what Config.Odds is taken for when it is 0.
const UsualOdds = 20

const (
	bins       = 120 // of half a minute: the hour
	binSeconds = 3600 / bins
	unit       = 8   // one excursion, in what a bin counts by
	remembered = 336 // hours that weigh in full; older ones fade
	fading     = 24  // every so many hours that it is seen in, a bin forgets
	forgets    = 14  // the fourteenth part of what it has

	priorTail   = 0.8  // nats by which a blip is above noted, in the mean: assumed of a flow that is not known yet
	priorBlips  = 2.   // and worth as much as so many blips
	priorSquare = 2.67 // mean of the squares of heights over the square of their mean: of a shape of 0.2
	priorShape  = 20.  // and worth as much as so many blips
	mostShape   = 0.3
	mostBlips   = 200
	mostHeight  = 100. // what is higher counts as this
	priorHours  = 6.   // the flow's own mean, in what one bin is known by
	blipsABin   = 0.02 // an hour, assumed of a flow that is not known yet
	onsetsABin  = 0.002
	mostNeeded  = 60. // nats
	leastNeeded = 13. // where bursts do not use to begin
	burstLasts  = 12 * time.Second
)

// habits are what a flow's excursions have been: in each half minute of the hour, how often something began there that
// lasted (a burst), and how often something that passed by itself within seconds (a blip); and how high blips reach.
// Machines call by the clock, so both come at their own minutes. What an excursion must bring is reckoned from it.
type habits struct {
	onsets, blips [bins]uint8 // in units
	hours         float32     // watched, fading
	tail, tails   float32     // sum of the heights of blips above noted, and how many
	squares       float32     // sum of the squares of these heights
	excursions    uint16      // noted in all
	turns         uint16      // of the clock's hour, as far as watched
	bin           uint8
}

// enter is called when another bin begins, and at the flow's first step.
func (h *habits) enter(bin uint8) {
	if bin < h.bin {
		h.turns++
	}
	h.bin = bin
	h.hours += binSeconds / 3600.
	if h.hours > remembered {
		h.hours = remembered
	}
	if h.turns%fading == 0 {
		h.onsets[bin] = fade(h.onsets[bin])
		h.blips[bin] = fade(h.blips[bin])
	}
}

// fade takes the part that is forgotten, and at least one: nothing stays for good.
func fade(n uint8) uint8 { return n - uint8((int(n)+forgets-1)/forgets) }

func (h *habits) add(n *uint8) {
	*n += min(unit, math.MaxUint8-*n)
	h.excursions++
}

// blip notes an excursion that began in the bin and passed by itself.
func (h *habits) blip(bin uint8, height float64) {
	h.add(&h.blips[bin])
	height = min(max(0, height-noted), mostHeight)
	h.tail += float32(height)
	h.squares += float32(height * height)
	h.tails++
	if h.tails > mostBlips {
		h.tail *= mostBlips / h.tails
		h.squares *= mostBlips / h.tails
		h.tails = mostBlips
	}
}

// onset notes the begin of one that lasted.
func (h *habits) onset(bin uint8) { h.add(&h.onsets[bin]) }

// needed is the score from which on a burst is odds times likelier than a blip; the package's text derives it.
func (h *habits) needed(odds float64) float64 {
	if odds <= 0 {
		odds = UsualOdds
	}
	hours := float64(h.hours)
	near := float64(h.onsets[(h.bin+1)%bins]) + float64(h.onsets[(h.bin+bins-1)%bins]) // the clocks of machines differ
	onsets := rateOfBin(float64(h.onsets[h.bin])+near/2, &h.onsets, hours, onsetsABin)
	blips := rateOfBin(float64(h.blips[h.bin]), &h.blips, hours, blipsABin)
	least := leastNeeded
	if onsets > 4*onsetsABin {
		least = noted
	}
	return min(max(least, noted+h.reaches(odds*blips/onsets)), mostNeeded)
}

// reaches is how far above noted one blip in n reaches: of a generalized Pareto distribution that has the mean and the
// variance of those that were seen, and at least the tail of an exponential one.
func (h *habits) reaches(n float64) float64 {
	blips := float64(h.tails)
	mean := (priorTail*priorBlips + float64(h.tail)) / (priorBlips + blips)
	square := (priorSquare*mean*mean*priorShape + float64(h.squares)) / (priorShape + blips)
	shape := (1 - mean*mean/max(mean*mean, square-mean*mean)) / 2
	if shape < 0.01 {
		return mean * math.Log(n)
	}
	shape = min(shape, mostShape)
	return mean * (1 - shape) / shape * (math.Pow(n, shape) - 1)
}

// rateOfBin is how many excursions an hour begin in a bin, as far as known: its own count, with the flow's mean bin for a
// prior, which has a prior of its own. In the mean no bin counts more than once in habitually: what comes by the clock
// says nothing of other moments.
func rateOfBin(own float64, all *[bins]uint8, hours, prior float64) float64 {
	const habitually = 48 // hours
	most := uint8(min(unit*max(1, hours/habitually), math.MaxUint8))
	sum := 0
	for _, n := range all {
		sum += int(min(n, most))
	}
	mean := (float64(sum)/(unit*bins) + prior*priorHours) / (hours + priorHours)
	return (own/unit + mean*priorHours) / (hours + priorHours)
}
