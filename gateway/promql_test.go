package gateway

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// As much of Prometheus' language as rules and dashboards are written in: whoever asks must be understood, or shows nothing.

// selected is one selector: a metric, the labels that it is selected by, and, where it must be equal, with which value.
type selected struct {
	metric string
	labels []string
	equal  map[string]string
}

// promQuery is an expression, read.
type promQuery struct {
	uses   []selected
	groups []string // labels that something is grouped or joined by

	text   string
	tokens []string
	at     int
}

var token = regexp.MustCompile(`^(?:"(?:[^"\\]|\\.)*"|\[[^\]]*\]|[A-Za-z_:][A-Za-z0-9_:]*|[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?[smhdw]?|=~|!~|!=|==|>=|<=|[-+*/%^<>=(){},])`)

var overTime = regexp.MustCompile(`^\[(?:[0-9]+[smhdw]|\$__(?:range|rate_interval|interval))\]$`)

var (
	aggregations = []string{"sum", "min", "max", "avg", "count", "topk", "bottomk", "quantile"}
	functions    = map[string]int{
		"rate": 1, "irate": 1, "increase": 1, "histogram_quantile": 2, "absent": 1, "time": 0, "vector": 1, "clamp_min": 2, "clamp_max": 2,
		"min_over_time": 1, "max_over_time": 1, "changes": 1, "delta": 1,
	}
	ofSpans = []string{"rate", "irate", "increase", "min_over_time", "max_over_time", "changes", "delta"}
	infixes = []string{"+", "-", "*", "/", "%", "^", "==", "!=", ">", "<", ">=", "<=", "and", "or", "unless"}
)

// parseQuery reads an expression.
func parseQuery(text string) (q *promQuery, err error) {
	q = &promQuery{text: text}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		found := token.FindString(rest)
		if found == "" {
			return nil, fmt.Errorf("%s: nothing begins with %q", text, rest)
		}
		q.tokens, rest = append(q.tokens, found), rest[len(found):]
	}
	defer func() {
		if fault := recover(); fault != nil {
			q, err = nil, fmt.Errorf("%s: %v", text, fault)
		}
	}()
	q.expression()
	if q.at < len(q.tokens) {
		return nil, fmt.Errorf("%s: %q is too much", text, q.tokens[q.at])
	}
	return q, nil
}

func (q *promQuery) peek() string {
	if q.at < len(q.tokens) {
		return q.tokens[q.at]
	}
	return ""
}

func (q *promQuery) next() string {
	t := q.peek()
	q.at++
	return t
}

func (q *promQuery) take(t string) bool {
	if q.peek() == t {
		q.at++
		return true
	}
	return false
}

func (q *promQuery) want(t string) {
	if got := q.next(); got != t {
		panic(fmt.Sprintf("%q where %q should be", got, t))
	}
}

func isWord(t string) bool { return t != "" && (t[0] == '_' || t[0]|0x20 >= 'a' && t[0]|0x20 <= 'z') }

// expression reads operands and what is between them; what binds closer does not matter here.
func (q *promQuery) expression() {
	q.operand()
	for slices.Contains(infixes, q.peek()) {
		q.next()
		q.take("bool")
		if q.take("on") || q.take("ignoring") {
			q.names()
			if q.take("group_left") || q.take("group_right") {
				if q.peek() == "(" {
					q.names()
				}
			}
		}
		q.operand()
	}
}

// names reads labels in brackets.
func (q *promQuery) names() {
	q.want("(")
	for !q.take(")") {
		label := q.next()
		if !isWord(label) {
			panic(fmt.Sprintf("%q is no label", label))
		}
		q.groups = append(q.groups, label)
		if q.peek() != ")" {
			q.want(",")
		}
	}
}

func (q *promQuery) operand() {
	q.take("-")
	switch t := q.next(); {
	case t == "(":
		q.expression()
		q.want(")")
	case t != "" && t[0] >= '0' && t[0] <= '9':
	case slices.Contains(aggregations, t):
		grouped := q.grouping()
		q.arguments(1 + strings.Count("topk bottomk quantile", t))
		if !grouped {
			q.grouping()
		}
	case isWord(t) && q.peek() == "(":
		n, known := functions[t]
		if !known {
			panic(fmt.Sprintf("there is no function %s", t))
		}
		before := q.at
		q.arguments(n)
		if slices.Contains(ofSpans, t) && !strings.HasPrefix(q.tokens[q.at-2], "[") {
			panic(fmt.Sprintf("%s is of a span: %v", t, q.tokens[before:q.at]))
		}
	case isWord(t):
		q.selector(t)
	default:
		panic(fmt.Sprintf("%q is no operand", t))
	}
}

func (q *promQuery) grouping() bool {
	if !q.take("by") && !q.take("without") {
		return false
	}
	q.names()
	return true
}

func (q *promQuery) arguments(n int) {
	q.want("(")
	for i := range n {
		if i > 0 {
			q.want(",")
		}
		q.expression()
	}
	q.want(")")
}

// selector reads what follows the name of a metric.
func (q *promQuery) selector(metric string) {
	u := selected{metric: metric, equal: map[string]string{}}
	if q.take("{") {
		for !q.take("}") {
			label, sign, value := q.next(), q.next(), q.next()
			if !isWord(label) || !slices.Contains([]string{"=", "!=", "=~", "!~"}, sign) || !strings.HasPrefix(value, `"`) {
				panic(fmt.Sprintf("%s%s%s selects nothing", label, sign, value))
			}
			u.labels = append(u.labels, label)
			if sign == "=" {
				u.equal[label] = strings.Trim(value, `"`)
			}
			if q.peek() != "}" {
				q.want(",")
			}
		}
	}
	if strings.HasPrefix(q.peek(), "[") {
		if t := q.next(); !overTime.MatchString(t) {
			panic(fmt.Sprintf("%s is no span", t))
		}
	}
	q.uses = append(q.uses, u)
}

func TestExpressionsAreRead(t *testing.T) {
	for _, c := range []struct{ text, uses, groups string }{
		{`up`, "up[]", ""},
		{`up{job="tidegate"} == 0`, "up[job]", ""},
		{`sum by (a, b) (rate(x{i=~"$i",w="5m"}[$__rate_interval])) / on (a) group_left () sum(y) by (a) > 0.05`, "x[i w] y[]", "a b a a"},
		{`topk(10, sum(x)) or vector(0)`, "x[]", ""},
		{`histogram_quantile(0.99, sum by (le) (rate(x_bucket[1m]))) > 1e3 and on (le) (y unless z)`, "x_bucket[] y[] z[]", "le le"},
		{`-x * 100 - time()`, "x[]", ""},
	} {
		q, err := parseQuery(c.text)
		if err != nil {
			t.Error(err)
			continue
		}
		var uses []string
		for _, u := range q.uses {
			uses = append(uses, fmt.Sprintf("%s%v", u.metric, u.labels))
		}
		if got := strings.Join(uses, " "); got != c.uses || strings.Join(q.groups, " ") != c.groups {
			t.Errorf("%s: uses %s, groups %v", c.text, got, q.groups)
		}
	}
	for _, bad := range []string{
		``, `sum(`, `sum x`, `x{`, `x{a}`, `x{a=b}`, `x{a="b"`, `rate(x)`, `rate(x[5])`, `rate(x[5m]`, `nofunction(x)`, `x >`, `x y`, `sum by a (x)`, `sum by (1) (x)`,
		`topk(sum(x))`, `histogram_quantile(0.9)`, `x)`, `x[5m`, `x ? y`, `on (x)`, `sum(x) by`,
	} {
		if _, err := parseQuery(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
