package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"tidegate/loadtest/tally"
)

func TestTheReloadReportIsPrinted(t *testing.T) {
	e := goodReload()
	r := &ReloadReport{Seed: 3, Puts: 20, Compared: 3, Pairs: 4, Rows: e.rows, Checks: judgeReload(e), Quickness: judgeQuickness(e), Command: "go run ./loadtest reload"}
	r.Rows[1].With = tally.Figures{Offered: 5}
	var text bytes.Buffer
	r.print(&text)
	compare(t, "testdata/reload.golden.txt", text.Bytes())

	lost, slow := []Check{{Name: "lost"}}, []Check{{Name: "slow"}}
	for _, step := range []struct {
		name              string
		checks, quickness []Check
		void, want        string
	}{
		{"good", nil, nil, "", "<nil>"},
		{"lost", lost, nil, "", errFailed.Error()},
		{"lost, and void", lost, slow, "late", errFailed.Error()},
		{"void", nil, slow, "late", "cannot be compared: late"},
		{"slow", nil, slow, "", errFailed.Error()},
	} {
		r := &ReloadReport{Checks: step.checks, Quickness: step.quickness, Void: step.void}
		if got := fmt.Sprint(r.failed()); !strings.Contains(got, step.want) {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
		text.Reset()
		if r.print(&text); strings.Contains(text.String(), "VOID") != (step.void != "") {
			t.Errorf("%s: %s", step.name, text.String())
		}
	}
}
