package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPictureHasPaperOfItsOwnAndEveryCurve(t *testing.T) {
	points := []point{
		{Setting: "odds 8", score: score{Bursts: 80, Within2: 0.85, Within5: 0.97, FalseADay: 1.4}},
		{Setting: "odds 20", Marked: true, score: score{Bursts: 80, Within2: 0.82, Within5: 0.97, FalseADay: 0.9}},
	}
	panels := []panel{{"one", []curve{{ours, points}, {"a rule", points}}}, {"two", []curve{{ours, points}, {"a rule", points}}}}
	file := filepath.Join(t.TempDir(), "curve.svg")
	if err := drawPanels(panels, file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	svg := string(text)
	for _, want := range []string{"one: 80 bursts", "two: 80 bursts", ">20</text>", "best rules: a rule", "asked", "reached for"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture has no %q", want)
		}
	}
	_, body, _ := strings.Cut(svg, "<g ")
	if _, first, _ := strings.Cut(body, "<path "); !strings.HasPrefix(first, `d="M0,0L748.8,0L748.8,604.8L0,604.8Z" style="fill:#FFFFFF"`) {
		t.Errorf("what is drawn first is not white paper: %.80s", first)
	}
	if err := drawPanels(panels, filepath.Join(t.TempDir(), "curve.gif")); err == nil {
		t.Error("a picture of a kind that there is not")
	}
}
