package config

import (
	"bytes"
	"strconv"
)

// RedactSecrets is a text, of a configuration or of a diff, as those may see it who may change nothing: without
// the hashes of keys and tokens, and without what makes the address of a webhook a secret.
func RedactSecrets(text []byte) []byte { return RedactURLs(RedactHashes(text)) }

// RedactURLs is a text in which all http addresses end after their host: "https://hooks.example.com/...". Names
// and passwords before the host go, too. Addresses are found however TOML may write them: with escapes, or over
// several lines. The given text is not changed.
func RedactURLs(text []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(text); {
		at := urlScheme(text, i)
		if at < 0 {
			i++
			continue
		}
		host, secret, end := urlRest(text, at, quoteBefore(text, i))
		if secret {
			out = append(append(append(out, text[done:at]...), host...), "/..."...)
			done = end
		}
		i = max(end, i+1)
	}
	if done == 0 {
		return append(out, text...)
	}
	return append(out, text[done:]...)
}

// quoteBefore is the quote that text at i stands in, three of them for one of several lines, if the string begins
// right there; empty if none does.
func quoteBefore(text []byte, i int) []byte {
	for _, n := range []int{3, 1} {
		if i >= n && (text[i-1] == '"' || text[i-1] == '\'') && bytes.Count(text[i-n:i], text[i-1:i]) == n {
			return text[i-n : i]
		}
	}
	return nil
}

// urlScheme reads "http://" or "https://" at i, in any case and with escapes, and says where it ends; -1 if there
// is none.
func urlScheme(text []byte, i int) (end int) {
	for _, scheme := range []string{"http://", "https://"} {
		at := i
		for k := 0; ; k++ {
			if k == len(scheme) {
				return at
			}
			c, n := urlByte(text[at:])
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			if n == 0 || c != rune(scheme[k]) {
				break
			}
			at += n
		}
	}
	return -1
}

// urlRest reads what follows a scheme: the host with its port, whether anything else is there, and where it all
// ends: at the quote that it began after, else at a blank or any quote, and with the line.
func urlRest(text []byte, i int, quote []byte) (host []byte, secret bool, end int) {
	inHost := true
	for i < len(text) {
		raw := text[i]
		escapes := len(quote) == 0 || quote[0] == '"'
		if over := lineEnd(text[i:]); escapes && over > 0 {
			if inHost {
				host = append(host, text[i:i+over]...)
			}
			i += over
			continue
		}
		if raw < ' ' || endsAt(text, i, quote) {
			break
		}
		c, n := rune(raw), 1
		if escapes {
			if c, n = urlByte(text[i:]); n == 0 { // a line that ends here, or no escape at all
				if c, n = '\\', 1; i+1 < len(text) && text[i+1] > ' ' {
					n = 2
				}
			}
		}
		source := text[i : i+n]
		i += n
		switch {
		case inHost && c == '@':
			host, secret = nil, true
		case inHost && (c == '/' || c == '?' || c == '#' || c == '\\'):
			inHost = false
			secret = secret || c != '/'
		case inHost:
			host = append(host, source...)
		default:
			secret = true
		}
	}
	return host, secret, i
}

// endsAt says that a string in such quotes ends at i. One of several lines may have two quotes of its own right
// before its end.
func endsAt(text []byte, i int, quote []byte) bool {
	switch {
	case len(quote) == 0:
		return bytes.IndexByte([]byte(" \"'`"), text[i]) >= 0
	case len(quote) == 3 && i+3 < len(text) && text[i+3] == quote[0]:
		return false
	}
	return bytes.HasPrefix(text[i:], quote)
}

// urlByte reads a character, plain or as one of TOML's escapes (\x61, \u0061, \U00000061), and passes over a
// line's end that a backslash takes out. It says how many bytes it takes; 0 if there is none.
func urlByte(text []byte) (c rune, n int) {
	skip := lineEnd(text)
	if text = text[skip:]; len(text) == 0 {
		return 0, 0
	}
	if text[0] != '\\' {
		return rune(text[0]), skip + 1
	}
	if len(text) == 1 {
		return 0, 0
	}
	switch text[1] {
	case 'x':
		n = 4
	case 'u':
		n = 6
	case 'U':
		n = 10
	}
	if n == 0 || len(text) < n {
		return 0, 0
	}
	code, err := strconv.ParseUint(string(text[2:n]), 16, 32)
	if err != nil {
		return 0, 0
	}
	return rune(code), skip + n
}
