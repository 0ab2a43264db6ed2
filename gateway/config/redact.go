package config

import (
	"bytes"
	"strconv"
)

// hashDigits is the length of a sha256 in hex.
const hashDigits = 64

// RedactHashes is a text, of a configuration or of a diff, without the hashes of keys and tokens: of each
// the first 8 digits stay, as in logs, so that they can be told apart. Hashes are found however TOML may
// write them: with escapes, or over several lines. The given text is not changed.
func RedactHashes(text []byte) []byte {
	// Digits as they stand go first: what looks like an escape may be none, as in a comment.
	return redact(redact(bytes.Clone(text), false), true)
}

func redact(text []byte, escapes bool) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(text); {
		end, digits, head := hexRun(text, i, escapes)
		if digits >= hashDigits {
			out = append(append(append(out, text[done:i]...), head...), "..."...)
			done = end
		}
		i = max(end, i+1)
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

// hexRun reads hex digits from i on: how far they go, how many there are, and the first 8.
func hexRun(text []byte, i int, escapes bool) (end, digits int, head []byte) {
	for {
		digit, n := hexDigit(text[i:], escapes)
		if n == 0 {
			return i, digits, head
		}
		if digits++; digits <= 8 {
			head = append(head, digit)
		}
		i += n
		if over := lineEnd(text[i:]); escapes && over > 0 {
			if _, n := hexDigit(text[i+over:], escapes); n > 0 {
				i += over
			}
		}
	}
}

// hexDigit reads a hex digit, plain or, if they count, as one of TOML's escapes (\x61, \u0061, \U00000061),
// and says how many bytes it takes; 0 if there is none.
func hexDigit(text []byte, escapes bool) (digit byte, n int) {
	if len(text) == 0 {
		return 0, 0
	}
	if digit, n = text[0], 1; digit == '\\' && escapes && len(text) > 1 {
		switch text[1] {
		case 'x':
			n = 4
		case 'u':
			n = 6
		case 'U':
			n = 10
		default:
			return 0, 0
		}
		if len(text) < n {
			return 0, 0
		}
		code, err := strconv.ParseUint(string(text[2:n]), 16, 32)
		if err != nil || code > 'f' {
			return 0, 0
		}
		digit = byte(code)
	}
	if '0' <= digit && digit <= '9' || 'a' <= digit|0x20 && digit|0x20 <= 'f' {
		return digit, n
	}
	return 0, 0
}

// lineEnd is the length of a backslash that ends a line, with the white space that TOML leaves out after it
// and what a diff writes before a line; 0 if there is none.
func lineEnd(text []byte) int {
	if len(text) == 0 || text[0] != '\\' {
		return 0
	}
	n := 1
	for n < len(text) && bytes.IndexByte([]byte(" \t\r"), text[n]) >= 0 {
		n++
	}
	if n == len(text) || text[n] != '\n' {
		return 0
	}
	for n < len(text) && bytes.IndexByte([]byte(" \t\r\n+-"), text[n]) >= 0 {
		n++
	}
	return n
}
