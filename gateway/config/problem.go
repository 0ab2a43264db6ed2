package config

import (
	"fmt"
	"strings"
)

// Problem is one fault of a configuration: where it stands, what it is and what to do about it.
type Problem struct {
	File    string // the file, or the environment variable
	Line    int    // from 1; 0: no line
	Column  int    // from 1, in bytes; 0: no column
	Key     string // "plans[0].rules[2].rate"; "": the whole file
	Name    string // the key as its owner knows it: "plans.free.rules[2].rate"
	Value   string // as it would stand in the file; "": the key is missing, or not one value
	Message string // what is wrong, and what is allowed
	Hint    string // a remedy; "": none
}

// String is the problem on one line:
//
//	config.toml:12:3: plans.free.rules[2].semantic = "chatt": no such semantic; did you mean "chat"?
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	if p.Name != "" {
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(p.Name)
		if p.Value != "" {
			b.WriteString(" = " + p.Value)
		}
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	return b.String()
}

// Problems is every fault of a configuration, in the order of the file. It is the error of Load.
type Problems []Problem

// Error is one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}
