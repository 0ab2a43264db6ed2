package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidegate/gateway/record"
)

// logged is a line of a combined log, so many seconds after 12:00; more is what stands behind the user agent.
func logged(second int, user, request string, status int, more string) string {
	return fmt.Sprintf(`10.0.0.1 - %s [29/Nov/2026:12:%02d:%02d +0000] "%s" %d 7 "-" "curl/8"%s`+"\n", user, second/60, second%60, request, status, more)
}

const noon = 1795953600 // of these lines

// logFile writes a log and returns its path.
func logFile(t *testing.T, name string, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// columns cuts lines of a trace to some columns.
func columns(trace string, which ...int) (lines []string) {
	for _, line := range strings.Split(strings.TrimSpace(trace), "\n")[1:] {
		fields := strings.Split(line, ",")
		var cut []string
		for _, i := range which {
			cut = append(cut, fields[i])
		}
		lines = append(lines, strings.Join(cut, ","))
	}
	return lines
}

func TestConvertMakesATraceOfALog(t *testing.T) {
	path := logFile(t, "access.log",
		logged(9, "ann", "GET /v1/chat/x?key=secret HTTP/1.1", 200, " 2.500"),
		logged(8, "-", "POST /v1//chat/y HTTP/1.1", 429, " 0.001"),
		"no line of a log\n",
		logged(8, "b o/b", "GET /v1/other HTTP/1.1", 504, ""),
		`2001:db8::5 - - [29/Nov/2026:20:00:10 +0800] "\x16\x03" 400 -`+"\n",
	)
	r := run(t, "convert", "-config", file(t, small), "-spread", "none", path)
	want := record.Header + "\n" +
		fmt.Sprintf("%d,ann,chat,7,chat,,1,2500.000,served\n", noon*1000+6500) +
		fmt.Sprintf("%d,10.0.0.1,chat,7,chat,,1,1.000,refused\n", noon*1000+7999) +
		fmt.Sprintf("%d,b_o_b,default,7,,,1,0,upstream_timeout\n", noon*1000+8000) +
		fmt.Sprintf("%d,2001:db8::5,default,,,,1,0,served\n", noon*1000+10000)
	if r.code != 0 || r.out != want {
		t.Errorf("exit %d\n%s\nwant\n%s", r.code, r.out, want)
	}
	for _, want := range []string{path + ":3: it does not begin with", "5 lines, 1 of them not readable\n", "2 requests match no route of -config\n"} {
		if !strings.Contains(r.err, want) {
			t.Errorf("%q is not in\n%s", want, r.err)
		}
	}
}

func TestConvertNamesCallersAndTypesAsAsked(t *testing.T) {
	path := logFile(t, "access.log", logged(1, "ann", "GET / HTTP/1.1", 200, ` "tenant/7" 0.5`), logged(2, "-", "GET / HTTP/1.1", 200, ` - 0.5`))
	for caller, want := range map[string][]string{
		"auto": {"ann,chat", "10.0.0.1,chat"}, "addr": {"10.0.0.1,chat", "10.0.0.1,chat"},
		"user": {"ann,chat", "anonymous,chat"}, "field:10": {"tenant_7,chat", "anonymous,chat"}, "field:6": {"200,chat", "200,chat"},
		"field:60": {"anonymous,chat", "anonymous,chat"},
	} {
		if r := run(t, "convert", "-caller", caller, "-semantic", "chat", path); r.code != 0 || !slices.Equal(columns(r.out, 1, 2), want) {
			t.Errorf("%s: exit %d, %q, want %q", caller, r.code, columns(r.out, 1, 2), want)
		}
	}
	for flag, want := range map[string]string{
		"-caller=field:0": "must be auto, addr, user or field:N", "-format=apache": "must be nginx, combined, common or auto",
		"-spread=even": "must be random or none", "-window=-1s": "must not be below 0", "-config=none.toml": "none.toml",
	} {
		if r := run(t, "convert", flag, path); r.code != 1 || !strings.Contains(r.err, want) || r.out != "" {
			t.Errorf("%s: %+v", flag, r)
		}
	}
}

func TestConvertMergesFilesInAnyOrder(t *testing.T) {
	line := func(second int) string { return logged(second, fmt.Sprint("u", second), "GET / HTTP/1.1", 200, "") }
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte(line(5) + line(3) + line(400)))
	w.Close()
	old := logFile(t, "access.log.2.gz", z.String())
	// Another server's of the same time, the one that follows, and one that goes back beyond its first line.
	other, next := logFile(t, "b.log", line(1), line(4), line(500)), logFile(t, "access.log.1", line(900), line(700), line(901))
	r := run(t, "convert", "-spread", "none", "-window", "4m", next, other, old)
	if want := []string{"u1", "u3", "u4", "u5", "u400", "u500", "u700", "u900", "u901"}; r.code != 0 || !slices.Equal(columns(r.out, 1), want) {
		t.Errorf("%+v, want %q", r, want)
	}
}

func TestConvertWritesWhatComesTooLateLater(t *testing.T) {
	line := func(second int) string { return logged(second, fmt.Sprint("u", second), "GET / HTTP/1.1", 200, "") }
	r := run(t, "convert", "-spread", "none", "-window", "10s", logFile(t, "a.log", line(1), line(20), line(40), line(2), line(41)))
	want := []string{"1,u1", "20,u20", "20,u2", "40,u40", "41,u41"}
	for i, w := range want {
		second, user, _ := strings.Cut(w, ",")
		var s int
		fmt.Sscan(second, &s)
		want[i] = fmt.Sprintf("%d,%s", noon*1000+s*1000, user)
	}
	if !slices.Equal(columns(r.out, 0, 1), want) || !strings.Contains(r.err, "1 lines stood further from their place than -window") {
		t.Errorf("%q, want %q\n%s", columns(r.out, 0, 1), want, r.err)
	}
}

// A log has whole seconds; a trace whose requests all come at the beginning of one would be a series of bursts.
func TestConvertSpreadsASecondOverTheSecond(t *testing.T) {
	var lines []string
	for range 1000 {
		lines = append(lines, logged(1, "ann", "GET / HTTP/1.1", 200, ""))
	}
	path := logFile(t, "access.log", lines...)
	r := run(t, "convert", path)
	at := columns(r.out, 0)
	tenths := map[string]int{}
	for _, a := range at {
		tenths[a[:len(a)-2]]++
	}
	if len(at) != 1000 || !slices.IsSorted(at) || len(tenths) != 10 {
		t.Errorf("%d lines, by tenths of a second %v", len(at), tenths)
	}
	for tenth, n := range tenths {
		if n < 60 || n > 140 || !strings.HasPrefix(tenth, fmt.Sprint(noon+1)) {
			t.Errorf("%d of 1000 in %s", n, tenth)
		}
	}
	if again := run(t, "convert", path); again.out != r.out {
		t.Error("the second time it is another trace")
	}
}

func TestConvertReadsStandardInputAndWritesAFile(t *testing.T) {
	to := filepath.Join(t.TempDir(), "trace.csv.gz")
	cmd := program(nil, "convert", "-out", to)
	cmd.Stdin = strings.NewReader(logged(2, "bob", "GET / HTTP/1.1", 200, "") + logged(1, "ann", "GET / HTTP/1.1", 499, ""))
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "2 lines, 0 of them not readable\n" {
		t.Fatalf("%v, %s", err, out)
	}
	r, err := record.OpenReader(to)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ann gone", "bob served"} {
		if got, err := r.Next(); err != nil || got.Caller+" "+got.Outcome != want {
			t.Errorf("%+v, %v, want %s", got, err, want)
		}
	}
}

func TestConvertFailsWhereNothingCanBeRead(t *testing.T) {
	to := filepath.Join(t.TempDir(), "trace.csv")
	r := run(t, "convert", "-out", to, logFile(t, "a.log", strings.Repeat("no line of a log\n", 20)))
	if _, err := os.Stat(to); r.code != 1 || err == nil || strings.Count(r.err, "it does not begin with") != shownLines || !strings.Contains(r.err, "20 lines, 20 of them not readable") {
		t.Errorf("%+v, %v", r, err)
	}
	for _, path := range []string{logFile(t, "empty.log"), filepath.Join(t.TempDir(), "none.log")} {
		if r := run(t, "convert", path); r.code != 1 || r.out != "" {
			t.Errorf("%+v", r)
		}
	}
	if r := run(t, "convert", "-out", filepath.Join(t.TempDir(), "no", "dir"), logFile(t, "a.log", logged(1, "ann", "GET / HTTP/1.1", 200, ""))); r.code != 1 || !strings.Contains(r.err, "cannot write the trace") {
		t.Errorf("%+v", r)
	}
}

// However long the logs are, what is held is the window.
func TestConvertHoldsNoMoreThanTheWindow(t *testing.T) {
	var lines []string
	for i := range 3000 {
		lines = append(lines, logged(i, "ann", "GET / HTTP/1.1", 200, ""))
	}
	c := converter{format: record.AccessAuto, window: 60_000, semantic: "default"}
	c.caller, _ = parseCaller("auto")
	for part := range 3 { // one after the other: only one is read ahead at a time
		if err := c.open(logFile(t, fmt.Sprint(part), lines[part*1000:(part+1)*1000]...)); err != nil {
			t.Fatal(err)
		}
	}
	w := &watched{c: &c}
	if c.merge(w); w.lines != 3000 || w.most > 2*62+3 {
		t.Errorf("%d lines, of which up to %d were held", w.lines, w.most)
	}
}

// watched counts what a converter holds at each line.
type watched struct {
	c           *converter
	lines, most int
}

func (w *watched) Write(line []byte) (int, error) {
	held := 0
	for _, l := range slices.Concat(w.c.merged, w.c.waiting) {
		held += l.order.Len()
	}
	w.lines, w.most = w.lines+1, max(w.most, held)
	return len(line), nil
}
