package config

import (
	"reflect"
	"strconv"
	"strings"
)

// didYouMean is a hint for a name that is none of those known: the nearest, or else what there is.
func didYouMean(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return "did you mean " + strconv.Quote(near) + "?"
	}
	return oneOf(known)
}

// oneOf is a hint that lists what is allowed, as long as a reader would still read it.
func oneOf(known []string) string {
	const most = 12
	if len(known) == 0 || len(known) > most {
		return ""
	}
	quoted := make([]string, len(known))
	for i, k := range known {
		quoted[i] = strconv.Quote(k)
	}
	return "choose from " + strings.Join(quoted, ", ")
}

// nearest is the known name that a slip of the keyboard would have turned into name; "" if none is near.
func nearest(name string, known []string) string {
	if len(known) > 2000 {
		return "" // the search would cost more than the hint is worth
	}
	best, bestDistance := "", 1+max(1, min(len(name)/3, 3))
	for _, k := range known {
		if k == "" {
			continue
		}
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < bestDistance && d < max(len(k), 2) {
			best, bestDistance = k, d
		}
	}
	return best
}

// distance counts the letters to insert, drop, replace or swap with their neighbour to get from a to b.
func distance(a, b string) int {
	const longest = 64 // names are no longer; beyond it the answer is of no use
	if len(a) > longest || len(b) > longest {
		return longest
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(replace, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// unknownHint helps with a key that its table does not have: a near name of the same table, or the tables
// that do have it.
func unknownHint(key string, t reflect.Type) string {
	if near := nearest(key, keysOf(t)); near != "" {
		return "did you mean " + strconv.Quote(near) + "?"
	}
	var homes []string
	for _, k := range Keys() {
		if k.Key[strings.LastIndex(k.Key, ".")+1:] == key {
			homes = append(homes, k.Key)
		}
	}
	if len(homes) > 0 && len(homes) <= 4 {
		return "there is " + strings.Join(homes, ", ")
	}
	return ""
}
