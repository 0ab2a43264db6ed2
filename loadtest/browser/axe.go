package browser

import (
	"fmt"
	"strings"
)

// Violation is what axe finds fault with, for the first of the elements concerned.
type Violation struct {
	ID     string `json:"id"`
	Impact string `json:"impact"` // minor | moderate | serious | critical
	Help   string `json:"help"`
	Where  string `json:"where"`
	Why    string `json:"why"`
	Count  int    `json:"count"`
}

func (v Violation) String() string {
	return fmt.Sprintf("%s (%s, %d times): %s: %s: %s", v.ID, v.Impact, v.Count, v.Help, v.Where, strings.ReplaceAll(v.Why, "\n", " "))
}

// Axe has axe look at the page as it is, for WCAG 2.2 A and AA; source is the library's text. It is evaluated from outside
// of the page, so the page's content security policy has no say in it.
func (t *Tab) Axe(source string) (list []Violation, err error) {
	if err := t.Eval(source+"\n;0", nil); err != nil {
		return nil, fmt.Errorf("cannot load axe: %w", err)
	}
	err = t.Eval(`axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], resultTypes: ["violations"]}).then((r) => r.violations.map((v) => ({
		id: v.id, impact: v.impact || "", help: v.help, count: v.nodes.length,
		where: v.nodes[0].target.join(" "), why: v.nodes[0].failureSummary || "",
	})))`, &list)
	return list, err
}
