package gateway

import (
	"strconv"
	"strings"

	"tidegate/gateway/config"
	"tidegate/gateway/console"
)

// problemsOf lists the faults that an error tells of, each by itself, after those of list.
func (g *Gateway) problemsOf(err error, list []console.ProblemView) []console.ProblemView {
	switch e := err.(type) {
	case config.Problems:
		return append(list, console.Problems(e)...)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			list = g.problemsOf(one, list)
		}
		return list
	}
	return append(list, g.problemOf(err.Error()))
}

// problemOf is a fault in what the configuration amounts to. Where it has a place, its text begins with that: file:line or
// file:line:column.
func (g *Gateway) problemOf(text string) console.ProblemView {
	v := console.ProblemView{File: g.options.Path, Message: text}
	rest, ok := strings.CutPrefix(text, v.File+":")
	if !ok {
		return v
	}
	if v.Line, rest, ok = cutNumber(rest); !ok {
		return v
	}
	if column, after, ok := cutNumber(rest); ok {
		v.Column, rest = column, after
	}
	v.Message = strings.TrimSpace(rest)
	return v
}

// cutNumber cuts "12:" off.
func cutNumber(text string) (n int, rest string, ok bool) {
	number, rest, ok := strings.Cut(text, ":")
	if !ok {
		return 0, text, false
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0, text, false
	}
	return n, rest, true
}
