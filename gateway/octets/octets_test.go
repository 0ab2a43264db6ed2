package octets

import (
	"bytes"
	"strings"
	"testing"
)

// Each function beside the plainest way to say the same.
func FuzzOctets(f *testing.F) {
	for _, s := range []string{"", "\t", "X-API-Key", "/v1/chat?x=1", "a\x00b", "12345678\x7f", "12345678é", " \t value \t", "#", "1234567\t1234567\x1f", "HOST"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		clean, target := true, true
		for _, c := range b {
			if c < ' ' && c != '\t' || c == 0x7f {
				clean = false
			}
			if c <= ' ' || c == 0x7f || c == '#' {
				target = false
			}
		}
		if got := CleanValue(b); got != clean {
			t.Errorf("CleanValue(%q) = %v", b, got)
		}
		if got := CleanTarget(b); got != target {
			t.Errorf("CleanTarget(%q) = %v", b, got)
		}
		const token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		isToken := true
		for _, c := range b {
			isToken = isToken && c < 0x80 && strings.IndexByte(token, c) >= 0
		}
		if got := IsToken(b); got != isToken {
			t.Errorf("IsToken(%q) = %v", b, got)
		}
		if got, want := Trim(b), bytes.Trim(b, " \t"); !bytes.Equal(got, want) {
			t.Errorf("Trim(%q) = %q", b, got)
		}
		lower := make([]byte, len(b))
		for i, c := range b {
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			lower[i] = c
		}
		if !EqualFold(b, string(lower)) {
			t.Errorf("EqualFold(%q) does not fold", b)
		}
		if len(b) > 0 {
			lower[len(lower)-1] ^= 1
			if folded := lower[len(lower)-1]; EqualFold(b, string(lower)) && folded != b[len(b)-1]|0x20 {
				t.Errorf("EqualFold(%q, %q)", b, lower)
			}
		}
	})
}
