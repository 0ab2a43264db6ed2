package detector

const (
	priorDispersion = 2  // assumed of a flow that is not known yet
	priorEvents     = 20 // and worth as much as so many arrivals
	mostDispersion  = 1e6
)

// moments are sums over the differences of neighbouring counts a and b at one scale.
type moments struct{ squares, events float32 } // of (a-b)^2, of a+b

// dispersion is how many times larger than Poisson's the variance of a flow's counts is, at each scale, from the
// differences of neighbouring counts (Allan's variance): a slow trend leaves them alone. As a ratio of sums it gives a
// steady flow 1 at any level, and each arrival the same weight.
//
// What is being judged must not yet excuse itself, so differences count only once they are 6.4 to 12.8 s old.
type dispersion struct {
	fresh, held, known [scales]moments
	phi                [scales]float32 // at least 1 and at least that of the next finer scale
}

// learn takes the counts that ended with the newest cell.
func (p *dispersion) learn(r *cells) {
	for k := range scales {
		n := uint32(scaleCells(k))
		if r.ticks&(n-1) != 0 {
			return
		}
		a, b := r.previous[k], r.sums[k]
		r.previous[k] = b
		if r.ticks >= 2*n {
			diff := float32(b) - float32(a)
			p.fresh[k].squares += diff * diff
			p.fresh[k].events += float32(a) + float32(b)
		}
	}
	p.turn() // each 64 cells, as the last scale ends
}

// turn moves the differences on by one age.
func (p *dispersion) turn() {
	for k := range scales {
		known, old := &p.known[k], p.held[k]
		p.held[k], p.fresh[k] = p.fresh[k], moments{}
		if old.events > 0 {
			const keep = 1 - 1./64 // about 410 s
			known.squares = known.squares*keep + old.squares
			known.events = known.events*keep + old.events
		}
	}
	p.spread()
}

// settle makes all differences count at once: a flow that is not judged yet can excuse nothing.
func (p *dispersion) settle() {
	p.turn()
	p.turn()
}

// doubt cuts what the edges of a surge have brought to a quarter of all that is known: they are no usual noise. But
// not to nothing: a flow that comes in batches is to become known as such.
func (p *dispersion) doubt() {
	for k := range scales {
		usual := (p.known[k].events + priorEvents) / 4
		for _, m := range []*moments{&p.held[k], &p.fresh[k]} {
			m.squares = min(m.squares, p.phi[k]*(m.events+usual))
		}
	}
}

// spread is called when what is known has changed.
func (p *dispersion) spread() {
	least := float32(1)
	for k := range p.phi {
		m := p.known[k]
		least = max(least, min(mostDispersion, (m.squares+priorDispersion*priorEvents)/(m.events+priorEvents)))
		p.phi[k] = least
	}
}

// variance is how many times larger than expected the variance of a scale's count is, the level being an estimate too.
func (f *Flow) variance(k int) float64 {
	return float64(f.dispersion.phi[k]) * (1 + scaleSeconds[k]/min(knownSeconds, max(cellSeconds, f.level.seconds)))
}
