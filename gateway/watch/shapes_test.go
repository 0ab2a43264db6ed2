package watch

import (
	"testing"

	"tidegate/detector"
)

func TestAShapeIsWhatSeveralCallersDo(t *testing.T) {
	season := func(rate func(hour int) float64) *detector.Season {
		s := &detector.Season{}
		for range 2 {
			for slot := range detector.Slot(168) {
				s.Learn(slot, rate(int(slot)%24))
			}
		}
		return s
	}
	rising := season(func(hour int) float64 { return 10 + 10*float64(hour) })
	falling := season(func(hour int) float64 { return 250 - 10*float64(hour) })
	members := []Member{{"a", "chat", rising}, {"b", "chat", rising}, {"c", "chat", rising}, {"new", "chat", &detector.Season{}}}
	for range 50 { // one caller, however many flows it has
		members = append(members, Member{"d", "chat", falling}, Member{"d", "export", falling})
	}
	shapes := Shapes(members)
	early, ok := shapes["chat"].At(2)
	late, also := shapes["chat"].At(22)
	if !ok || !also || late < 3*early {
		t.Errorf("early %v %v, late %v %v", early, ok, late, also)
	}
	if _, known := shapes["export"].At(2); known {
		t.Error("one caller alone makes a shape")
	}
	if len(Shapes(nil)) != 0 {
		t.Error("nobody makes a shape")
	}
}
