package replay

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// WriteText writes what changes for people.
func (d *Diff) WriteText(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s -> %s: %d requests in %s\n", d.Before, d.After, d.Requests, spanText(d.FromMS, d.ToMS))
	for i, name := range []string{d.Before, d.After} {
		for _, n := range d.Notes[i] {
			fmt.Fprintf(&b, "note: %s: %s\n", name, n)
		}
	}
	writeNotes(&b, nil, d.Passed)
	b.WriteByte('\n')
	switch {
	case len(d.Changes) > 0:
		d.writeChanges(&b)
	case len(d.Pools) > 0:
		fmt.Fprintf(&b, "nothing changes for any caller and semantic (%d)\n", d.Unchanged)
	default:
		fmt.Fprintf(&b, "nothing changes: every caller and semantic (%d) fares as before\n", d.Unchanged)
	}
	d.writePools(&b)
	return writeLines(out, b.String())
}

func (d *Diff) writeChanges(b *strings.Builder) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "caller\tsemantic\toffered\tat once\twaited\trefused\twait p50\tp99\tsurges\t")
	for i := range d.Changes {
		c := &d.Changes[i]
		writeChange(w, c.Caller, c.Semantic, c)
	}
	if d.Others != nil {
		fmt.Fprintf(w, "(%d more)\t\t\t\t\t\t\t\t\t\n", d.Others.Changes)
	}
	if len(d.Changes) > 1 || d.Unchanged > 0 {
		writeChange(w, "total", "", &d.Total)
	}
	w.Flush() // into memory
	if d.Unchanged > 0 {
		fmt.Fprintf(b, "nothing changes for %d other callers and semantics\n", d.Unchanged)
	}
}

func writeChange(w io.Writer, caller, semantic string, c *Change) {
	x, y := c.Before, c.After
	if x == nil {
		x = &Row{}
	}
	if y == nil {
		y = &Row{}
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t  %s\n", printable(caller), semantic, countChange(x.Offered, y.Offered),
		countChange(x.AtOnce, y.AtOnce), countChange(x.Waited, y.Waited), countChange(x.Refused, y.Refused),
		textChange(waitText(x.P50), waitText(y.P50)), textChange(waitText(x.P99), waitText(y.P99)),
		countChange(x.Surges, y.Surges), codesChange(x, y))
}

// countChange is "12 -> 15 (+3)", or the number that stays.
func countChange(a, b int64) string {
	if a == b {
		return strconv.FormatInt(a, 10)
	}
	return fmt.Sprintf("%d -> %d (%+d)", a, b, b-a)
}

func textChange(a, b string) string {
	if a == b {
		return a
	}
	return a + " -> " + b
}

// codesChange says of which reasons for a refusal there are more, or fewer.
func codesChange(x, y *Row) string {
	delta := map[string]int64{}
	for code, n := range y.Codes {
		delta[code] = n
	}
	for code, n := range x.Codes {
		delta[code] -= n
	}
	var more, fewer []string
	for c := range codes {
		name := c.String()
		switch n := delta[name]; {
		case n > 0:
			more = append(more, fmt.Sprintf("%s %+d", name, n))
		case n < 0:
			fewer = append(fewer, fmt.Sprintf("%s %+d", name, n))
		}
	}
	return strings.Join(append(more, fewer...), ", ")
}

func (d *Diff) writePools(b *strings.Builder) {
	if len(d.Pools) == 0 {
		return
	}
	b.WriteByte('\n')
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "pool\tseats\tpeak in use\tpeak waiting\tfull for\t")
	for _, p := range d.Pools {
		x, y := p.Before, p.After
		name := p.Name
		switch {
		case x == nil:
			x, name = &Pool{}, name+" (new)"
		case y == nil:
			y, name = &Pool{}, name+" (gone)"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t\n", name, countChange(int64(x.Seats), int64(y.Seats)), countChange(int64(x.PeakInUse), int64(y.PeakInUse)),
			countChange(int64(x.PeakWaiting), int64(y.PeakWaiting)), textChange(secondsText(x.FullSeconds), secondsText(y.FullSeconds)))
	}
	w.Flush()
}
