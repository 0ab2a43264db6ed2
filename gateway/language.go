package gateway

import "tidegate/gateway/octets"

// language is one of the languages refusals are written in.
type language uint8

const (
	english language = iota
	chinese
	languages = 2
)

// tag is the language as Content-Language names it.
func (l language) tag() string {
	if l == chinese {
		return "zh"
	}
	return "en"
}

// preferredLanguage reads an Accept-Language value: the highest weight wins, the earlier of two equal
// ones; "*" stands for English. English is the answer to whatever cannot be read.
func preferredLanguage(accept []byte) language {
	best, bestWeight := english, 0
	for len(accept) > 0 {
		var item []byte
		item, accept = cutByte(accept, ',')
		name, params := cutByte(item, ';')
		name = octets.Trim(name)
		lang, known := languageOf(name)
		if !known {
			continue
		}
		if w := weight(params); w > bestWeight {
			best, bestWeight = lang, w
		}
	}
	return best
}

func languageOf(name []byte) (language, bool) {
	if len(name) == 1 && name[0] == '*' {
		return english, true
	}
	if len(name) < 2 || len(name) > 2 && name[2] != '-' {
		return english, false
	}
	switch {
	case name[0]|0x20 == 'e' && name[1]|0x20 == 'n':
		return english, true
	case name[0]|0x20 == 'z' && name[1]|0x20 == 'h':
		return chinese, true
	}
	return english, false
}

// weight reads "q=0.8" as 800. No parameter is 1000, nonsense is 0.
func weight(params []byte) int {
	p := octets.Trim(params)
	if len(p) == 0 {
		return 1000
	}
	if len(p) < 3 || p[0]|0x20 != 'q' || p[1] != '=' || p[2] != '0' && p[2] != '1' {
		return 0
	}
	w, unit := int(p[2]-'0')*1000, 100
	for i, c := range p[3:] {
		switch {
		case i == 0 && c == '.':
		case i > 0 && i <= 3 && c >= '0' && c <= '9':
			w += int(c-'0') * unit
			unit /= 10
		default:
			return 0
		}
	}
	if w > 1000 {
		return 0
	}
	return w
}

// fieldValue finds a field in a header that may be broken: the first line that begins with name.
func fieldValue(header []byte, name string) []byte {
	for len(header) > 0 {
		var line []byte
		line, header = cutByte(header, '\n')
		if len(line) > len(name) && line[len(name)] == ':' && octets.EqualFold(line[:len(name)], name) {
			value, _ := cutByte(line[len(name)+1:], '\r')
			return value
		}
	}
	return nil
}

func cutByte(b []byte, sep byte) (before, after []byte) {
	for i, c := range b {
		if c == sep {
			return b[:i], b[i+1:]
		}
	}
	return b, nil
}
