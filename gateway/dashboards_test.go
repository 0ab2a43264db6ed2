package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
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
		w := newWorldIn(t, t.TempDir(), fmt.Sprintf("[record]\ndir = %q\n%s", t.TempDir(), roomy), mirror)
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
		w.do("GET /open/x", "X-API-Key: bob")
		time.Sleep(2 * time.Second)
		var shown bytes.Buffer
		w.g.telemetry.WriteMetrics(&shown)
		shows := seriesOf(shown.String())

		checked := 0
		for _, expression := range append(ruleExpressions(t), dashboardExpressions(t)...) {
			q, err := parseQuery(expression)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, problem := range q.missingIn(shows) {
				t.Errorf("%s: %s", expression, problem)
			}
			checked += len(q.uses)
		}
		if checked < 45 {
			t.Errorf("only %d uses of metrics were checked", checked)
		}
		for _, bad := range []string{
			`tidegate_nothing`, `tidegate_queue_depth{caller="bob"}`, `sum by (code) (tidegate_requests_total)`, `tidegate_requests_total{outcome="swallowed"}`,
			`sum by (pool) (tidegate_queue_depth) / on (semantic) tidegate_pool_seats`,
		} {
			if q, err := parseQuery(bad); err != nil || len(q.missingIn(shows)) != 1 {
				t.Errorf("%s: %v, and nothing is missing", bad, err)
			}
		}
	})
}

// addedByPrometheus are labels that a gateway does not show itself.
var addedByPrometheus = []string{"instance", "job"}

// missingIn is what an expression asks for that is not shown.
func (q *promQuery) missingIn(shows map[string][]map[string]string) (missing []string) {
	has := func(metric, label string) bool {
		return slices.Contains(addedByPrometheus, label) || slices.ContainsFunc(shows[metric], func(s map[string]string) bool { _, ok := s[label]; return ok })
	}
	for _, u := range q.uses {
		if shows[u.metric] == nil {
			missing = append(missing, "there is no metric "+u.metric)
			continue
		}
		fine := true
		for _, l := range u.labels {
			if !has(u.metric, l) {
				fine, missing = false, append(missing, u.metric+" has no label "+l)
			}
		}
		if fine && !slices.ContainsFunc(shows[u.metric], func(s map[string]string) bool {
			for l, v := range u.equal {
				if s[l] != v && !slices.Contains(addedByPrometheus, l) {
					return false
				}
			}
			return true
		}) {
			missing = append(missing, fmt.Sprintf("no %s has %v", u.metric, u.equal))
		}
	}
	for _, l := range q.groups {
		if len(missing) == 0 && !slices.ContainsFunc(q.uses, func(u selected) bool { return has(u.metric, l) }) {
			missing = append(missing, "none of it has a label "+l)
		}
	}
	return missing
}

var (
	sample = regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? [^ ]+$`)
	pair   = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)
)

// seriesOf are the labels of each series in the text format, by metric.
func seriesOf(text string) map[string][]map[string]string {
	shows := map[string][]map[string]string{"up": {{}}}
	for _, m := range sample.FindAllStringSubmatch(text, -1) {
		labels := map[string]string{}
		for _, l := range pair.FindAllStringSubmatch(m[2], -1) {
			labels[l[1]] = l[2]
		}
		shows[m[1]] = append(shows[m[1]], labels)
	}
	return shows
}

// Each rule says how bad it is, what has happened and what to do, and is tried on an incident.
func TestEveryRuleHasASeverityAnActionAndATest(t *testing.T) {
	rules, tests := readDashboard(t, "alerts.yml"), readDashboard(t, "alerts_test.yml")
	for _, rule := range strings.Split(rules, "- alert: ")[1:] {
		name, rest, _ := strings.Cut(rule, "\n")
		if !regexp.MustCompile(`severity: (critical|warning|info) `).MatchString(rest) || !strings.Contains(rest, "summary: \"") || !strings.Contains(rest, "action: \"") {
			t.Errorf("%s has no severity, summary or action", name)
		}
		if strings.Count(tests, "alertname: "+name+"\n") == 0 {
			t.Errorf("no incident of alerts_test.yml raises %s", name)
		}
	}
}

func readDashboard(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "dashboards", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func ruleExpressions(t *testing.T) (list []string) {
	t.Helper()
	text := readDashboard(t, "alerts.yml")
	// One line, or a block that is deeper than what follows it.
	for _, m := range regexp.MustCompile(`(?m)^ {8}expr: (?:\|\n((?: {10}.*\n)+)|(.*))`).FindAllStringSubmatch(text, -1) {
		list = append(list, strings.Join(strings.Fields(m[1]+m[2]), " "))
	}
	if n := strings.Count(text, "- alert:"); len(list) != n {
		t.Fatalf("%d expressions of %d rules were read", len(list), n)
	}
	return list
}

func dashboardExpressions(t *testing.T) (list []string) {
	t.Helper()
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(readDashboard(t, "grafana.json")), &board); err != nil {
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
		}
	}
	return list
}
