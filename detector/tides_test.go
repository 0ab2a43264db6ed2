package detector

import "math"

func tides(base float64) map[string]func(s float64) float64 {
	return map[string]func(s float64) float64{
		"lin60":   func(s float64) float64 { return base * (1 + min(1, max(0, s-120)/60)) },
		"exp60":   func(s float64) float64 { return base * math.Exp2(min(1, max(0, s-120)/60)) },
		"exp60x3": func(s float64) float64 { return base * math.Exp2(min(3, max(0, s-120)/60)) },
		"x4in240": func(s float64) float64 { return base * (1 + 3*min(1, max(0, s-120)/240)) },
		"x2in10":  func(s float64) float64 { return base * (1 + min(1, max(0, s-120)/10)) },
	}
}
