package console

import "strings"

// tagList is an If-Match or If-None-Match field (RFC 9110, 13.1).
type tagList struct {
	any  bool        // "*": whatever there is
	tags []entityTag // may be none
}

type entityTag struct {
	weak   bool
	opaque string // with its quotes
}

// MatchTag says whether an If-Match field lets something be changed that has the entity tag etag: the
// field is "*", or one of its tags is the same. Tags are compared strongly: a weak one is never the same.
// A field that is no If-Match, or an empty one, matches nothing.
func MatchTag(ifMatch, etag string) bool {
	list, ok := parseTags(ifMatch)
	return ok && list.match(etag, false)
}

// match compares with an entity tag. Weakly, tags are the same also where one or both are weak.
func (l tagList) match(etag string, weakly bool) bool {
	if l.any {
		return true
	}
	of, rest, ok := cutTag(etag)
	if !ok || rest != "" {
		return false
	}
	for _, t := range l.tags {
		if t.opaque == of.opaque && (weakly || !t.weak && !of.weak) {
			return true
		}
	}
	return false
}

// parseTags reads a field, of several lines the one that they make when joined by commas. A list may have
// empty places, as everywhere in HTTP.
func parseTags(field string) (list tagList, ok bool) {
	const blank = " \t"
	rest := strings.Trim(field, blank)
	if rest == "*" {
		return tagList{any: true}, true
	}
	for rest != "" {
		if rest[0] == ',' {
			rest = strings.TrimLeft(rest[1:], blank)
			continue
		}
		tag, after, ok := cutTag(rest)
		if !ok {
			return tagList{}, false
		}
		list.tags = append(list.tags, tag)
		rest = strings.TrimLeft(after, blank)
		if rest != "" && rest[0] != ',' {
			return tagList{}, false
		}
	}
	return list, true
}

// cutTag reads the entity tag that s begins with.
func cutTag(s string) (tag entityTag, rest string, ok bool) {
	s, tag.weak = strings.CutPrefix(s, "W/")
	if s == "" || s[0] != '"' {
		return entityTag{}, "", false
	}
	for i := 1; i < len(s); i++ {
		switch b := s[i]; {
		case b == '"':
			tag.opaque = s[:i+1]
			return tag, s[i+1:], true
		case b <= ' ' || b == 0x7f: // a backslash is a byte like others: tags know no escapes
			return entityTag{}, "", false
		}
	}
	return entityTag{}, "", false
}
