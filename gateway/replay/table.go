package replay

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"
)

// WriteText writes the report for people.
func (r *Report) WriteText(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d requests in %s\n", r.Config, r.Requests, spanText(r.FromMS, r.ToMS))
	writeNotes(&b, r.Notes, r.Passed)
	b.WriteByte('\n')
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	would := r.Total.WouldWait > 0 || len(r.Total.WouldRefuse) > 0
	head := "caller\tsemantic\toffered\tat once\twaited\trefused\twait p50\tp99\tmax\tsurges\t"
	if would {
		head += "would wait\twould refuse\t"
	}
	fmt.Fprintln(w, head)
	line := func(caller, semantic string, row *Row) {
		surges := strconv.FormatInt(row.Surges, 10)
		if row.Surging {
			surges += " (on)"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t", printable(caller), semantic, row.Offered, row.AtOnce, row.Waited, row.Refused,
			waitText(row.P50), waitText(row.P99), waitText(row.Max), surges)
		if would {
			fmt.Fprintf(w, "%d\t%d\t", row.WouldWait, sumOf(row.WouldRefuse))
		}
		fmt.Fprintf(w, "  %s\n", codesText(row.Codes))
	}
	for i := range r.Rows {
		line(r.Rows[i].Caller, r.Rows[i].Semantic, &r.Rows[i])
	}
	if r.Others != nil {
		line(fmt.Sprintf("(%d more)", r.Others.Rows), "", &r.Others.Row)
	}
	if len(r.Rows) != 1 {
		line("total", "", &r.Total)
	}
	w.Flush() // into memory
	b.WriteByte('\n')
	w = tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "pool\tseats\tpeak in use\tpeak waiting\tfull for\t")
	for _, p := range r.Pools {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t\n", p.Name, p.Seats, p.PeakInUse, p.PeakWaiting, secondsText(p.FullSeconds))
	}
	w.Flush()
	return writeLines(out, b.String())
}

// printable is a name that is safe for a terminal and a table: one that holds what cannot be seen is quoted. A trace may name
// its callers as it likes.
func printable(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return name
	}
	return strconv.Quote(name)
}

// writeLines writes a text without the blanks that its lines end in.
func writeLines(out io.Writer, text string) error {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(line, " \n"))
		b.WriteByte('\n')
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func writeNotes(b *strings.Builder, notes []Note, passed *Passed) {
	for _, n := range notes {
		fmt.Fprintf(b, "note: %s\n", n)
	}
	if passed == nil {
		return
	}
	if passed.Without > 0 {
		fmt.Fprintf(b, "note: %d requests of the trace have no caller, as they were refused before one was known: not played\n", passed.Without)
	}
	if passed.Lines > 0 {
		fmt.Fprintf(b, "note: %d lines could not be read and were passed over, such as\n", passed.Lines)
		for _, f := range passed.First[:min(len(passed.First), 5)] {
			fmt.Fprintf(b, "  %s\n", f)
		}
	}
}

// codesText says why requests were refused, the most frequent reason first.
func codesText(codes map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(codes), func(a, b string) int {
		return cmp.Or(cmp.Compare(codes[b], codes[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s %d", name, codes[name]))
	}
	return strings.Join(parts, ", ")
}

func sumOf(codes map[string]int64) (n int64) {
	for _, x := range codes {
		n += x
	}
	return n
}

// spanText is how long a trace lasts.
func spanText(fromMS, toMS int64) string {
	return durationText(time.Duration(toMS-fromMS) * time.Millisecond)
}

// durationText is a duration with its two largest units.
func durationText(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= day:
		return fmt.Sprintf("%dd %dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh %dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm %ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return d.Round(time.Millisecond).String()
}

// waitText is a wait that is given in milliseconds; three digits say enough.
func waitText(ms float64) string {
	switch {
	case ms == 0:
		return "0"
	case ms < 1000:
		return threeDigits(ms) + "ms"
	case ms < 60_000:
		return threeDigits(ms/1000) + "s"
	}
	return durationText(time.Duration(ms) * time.Millisecond)
}

// threeDigits writes a number above 0 and up to 1,000 with three digits that count.
func threeDigits(x float64) string {
	decimals := 2
	switch {
	case x >= 100:
		decimals = 0
	case x >= 10:
		decimals = 1
	case x < 1:
		decimals = 3
	}
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	if decimals > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

func secondsText(s float64) string {
	if s == 0 {
		return "0"
	}
	return waitText(s * 1000)
}
