package gateway

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Whatever the dashboard and the rules ask for, a gateway that has had traffic, a burst, a refusal and a broken upstream
// shows under that name, with those labels.
func TestDashboardAndRulesAskForMetricsThatThereAre(t *testing.T) {
	bubble(t, func(t *testing.T) {
		text := strings.Replace(roomy, "[log]", "[record]\ndir = \"trace\"\n[log]", 1)
		if text == roomy {
			text = "[record]\ndir = \"" + t.TempDir() + "\"\n" + roomy
		}
		w := newWorldIn(t, t.TempDir(), strings.Replace(text, `dir = "trace"`, `dir = "`+t.TempDir()+`"`, 1), mirror)
		var answers sync.WaitGroup
		w.pace(&answers, 15, 20*time.Second, "GET /open/x", "X-API-Key: bob")
		w.pace(&answers, 400, 3*time.Second, "GET /open/x", "X-API-Key: bob")
		w.do("GET /open/x", "X-API-Key: wrong")
		w.do("GET /nowhere", "X-API-Key: bob")
		answers.Wait()
		time.Sleep(5 * time.Minute) // connections to the upstream end
		w.refused.Store(true)
		w.do("GET /open/x", "X-API-Key: bob")
		w.refused.Store(false)
		var shown bytes.Buffer
		w.g.telemetry.WriteMetrics(&shown)
		labels := labelsOf(shown.String())

		checked := 0
		for _, expression := range append(ruleExpressions(t), dashboardExpressions(t)...) {
			for name, used := range selectorsOf(expression) {
				have, ok := labels[name]
				if !ok {
					t.Errorf("%s: there is no metric %s", expression, name)
					continue
				}
				checked++
				for _, label := range used {
					// Prometheus itself adds the first two.
					if label != "instance" && label != "job" && !slices.Contains(have, label) {
						t.Errorf("%s: %s has no label %s; it has %q", expression, name, label, have)
					}
				}
			}
		}
		if checked < 40 {
			t.Errorf("only %d uses of metrics were checked", checked)
		}
	})
}

var sample = regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? [^ ]+$`)

var labelName = regexp.MustCompile(`([a-z_]+)="`)

// labelsOf are the labels of each metric in the text format.
func labelsOf(text string) map[string][]string {
	labels := map[string][]string{"up": nil}
	for _, m := range sample.FindAllStringSubmatch(text, -1) {
		names := labels[m[1]]
		for _, l := range labelName.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(names, l[1]) {
				names = append(names, l[1])
			}
		}
		labels[m[1]] = names
	}
	return labels
}

var (
	metricUse = regexp.MustCompile(`\b(tidegate_[a-z_]+|process_[a-z_]+|up)\b(?:\{([^}]*)\})?`)
	grouping  = regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`)
	matcher   = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
)

// selectorsOf are the metrics of an expression, each with the labels that it is selected or grouped by. A grouping counts for
// the metrics behind it, up to the next grouping.
func selectorsOf(expression string) map[string][]string {
	used := map[string][]string{}
	groups := grouping.FindAllStringSubmatchIndex(expression, -1)
	for _, m := range metricUse.FindAllStringSubmatchIndex(expression, -1) {
		name := expression[m[2]:m[3]]
		labels := used[name]
		if m[4] >= 0 {
			for _, l := range matcher.FindAllStringSubmatch(expression[m[4]:m[5]], -1) {
				labels = append(labels, l[1])
			}
		}
		for i := len(groups) - 1; i >= 0; i-- {
			if groups[i][0] < m[0] {
				for _, l := range strings.Split(expression[groups[i][2]:groups[i][3]], ",") {
					labels = append(labels, strings.TrimSpace(l))
				}
				break
			}
		}
		used[name] = labels
	}
	return used
}

func ruleExpressions(t *testing.T) (list []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "dashboards", "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	// One line, or a block that is deeper than what follows it.
	for _, m := range regexp.MustCompile(`(?m)^ {8}expr: (?:\|\n((?: {10}.*\n)+)|(.*))`).FindAllStringSubmatch(string(text), -1) {
		list = append(list, strings.Join(strings.Fields(m[1]+m[2]), " "))
	}
	if n := strings.Count(string(text), "- alert:"); len(list) != n {
		t.Fatalf("%d expressions of %d rules were read", len(list), n)
	}
	return list
}

func dashboardExpressions(t *testing.T) (list []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "dashboards", "grafana.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, p := range board.Panels {
		if seen[p.ID] || p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("the panel %d %q has no id of its own, no title, or shows nothing", p.ID, p.Title)
		}
		seen[p.ID] = true
		for _, target := range p.Targets {
			list = append(list, target.Expr)
			if strings.Count(target.Expr, "(") != strings.Count(target.Expr, ")") || strings.Count(target.Expr, "{") != strings.Count(target.Expr, "}") {
				t.Errorf("%s: %s has a bracket without its other half", p.Title, target.Expr)
			}
		}
	}
	return list
}
