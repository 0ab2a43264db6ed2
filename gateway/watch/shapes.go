package watch

import "tidegate/detector"

// Member is one flow's season among those of its semantic.
type Member struct {
	Caller, Semantic string
	Season           *detector.Season
}

// FreshHours is for how many hours after it has learned something a flow still says what its semantic does.
const FreshHours = 14 * 24

// Shapes are what the flows of each semantic do together. All flows of one caller together count as one.
func Shapes(members []Member) map[string]*detector.Shape {
	of := make(map[string][]Member)
	flows := make(map[[2]string]int) // of a caller in a semantic
	for _, m := range members {
		if m.Season.Known() > 0 {
			of[m.Semantic] = append(of[m.Semantic], m)
			flows[[2]string{m.Semantic, m.Caller}]++
		}
	}
	shapes := make(map[string]*detector.Shape, len(of))
	var pool *detector.Pool // large, and the same one serves all
	for semantic, members := range of {
		if pool == nil {
			pool = new(detector.Pool)
		}
		*pool = detector.Pool{}
		for _, m := range members {
			pool.Add(m.Season, 1/float64(flows[[2]string{semantic, m.Caller}]))
		}
		shapes[semantic] = pool.Shape()
	}
	return shapes
}
