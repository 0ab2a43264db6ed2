package main

import "slices"

// score is what verdicts are worth against labels.
type score struct {
	Bursts     int     `json:"bursts"`
	Within2    float64 `json:"within_2s"`  // share of the bursts with a verdict up to 2 s after their onset, or up to 1 s before
	Within5    float64 `json:"within_5s"`  // up to 5 s after
	Within10   float64 `json:"within_10s"` // up to 10 s after, which is caught at all
	FalseADay  float64 `json:"false_per_clean_day"`
	PerBurst   float64 `json:"verdicts_per_burst"` // all of them, for each burst caught
	Verdicts   float64 `json:"verdicts"`
	CleanHours float64 `json:"clean_hours"`
}

const (
	earliest = -1000 // ms from the onset: labels are good to the second
	latest   = 10_000
)

// judge scores the moments of verdicts, in ms.
func judge(l *labels, verdicts []int64) (s score) {
	s.Verdicts = float64(len(verdicts))
	bursts := l.bursts()
	s.Bursts = len(bursts)
	for _, b := range bursts {
		delay := int64(latest + 1)
		for _, t := range verdicts {
			if d := t - b.onset; d >= earliest {
				delay = min(delay, d)
			}
		}
		s.Within2 += share(delay <= 2000, len(bursts))
		s.Within5 += share(delay <= 5000, len(bursts))
		s.Within10 += share(delay <= latest, len(bursts))
	}
	if caught := s.Within10 * float64(len(bursts)); caught > 0 {
		s.PerBurst = s.Verdicts / caught
	}
	wrong := 0
	for _, c := range l.clean {
		s.CleanHours += float64(c.to-c.from) / 3.6e6
	}
	for _, t := range verdicts {
		if inside(l.clean, t) {
			wrong++
		}
	}
	if s.CleanHours > 0 {
		s.FalseADay = float64(wrong) * 24 / s.CleanHours
	}
	return s
}

func share(yes bool, of int) float64 {
	if yes {
		return 1 / float64(of)
	}
	return 0
}

func inside(spans []span, t int64) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return s.from <= t && t < s.to })
}

// mean is the mean of several scores of one trace.
func mean(scores []score) (m score) {
	n := float64(len(scores))
	for _, s := range scores {
		m.Bursts, m.CleanHours = s.Bursts, s.CleanHours
		m.Within2 += s.Within2 / n
		m.Within5 += s.Within5 / n
		m.Within10 += s.Within10 / n
		m.FalseADay += s.FalseADay / n
		m.PerBurst += s.PerBurst / n
		m.Verdicts += s.Verdicts / n
	}
	return m
}
