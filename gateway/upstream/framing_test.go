package upstream

import (
	"bufio"
	"bytes"
	"io"
	"net/http/httputil"
	"strings"
	"testing"
)

func readChunks(in []byte, size int) ([]byte, error) {
	b := body{br: bufio.NewReaderSize(bytes.NewReader(in), 64), kind: byChunks}
	var out []byte
	buf := make([]byte, size)
	for {
		n, err := b.Read(buf)
		out = append(out, buf[:n]...)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
	}
}

func TestChunks(t *testing.T) {
	for _, tc := range []struct {
		in, want string
		ok       bool
	}{
		{"0\r\n\r\n", "", true},
		{"5\r\nhello\r\n0\r\n\r\n", "hello", true},
		{"5;a=\"b\"\r\nhello\r\n000\r\n\r\n", "hello", true},
		{"A\r\n0123456789\r\n0\r\nX: y\r\nZ: w\r\n\r\n", "0123456789", true},
		{"5\nhello\r\n0\r\n\r\n", "", false},
		{"5\r\nhello0\r\n\r\n", "hello", false},
		{"5\r\nhello\r\n0\r\n", "hello", false},
		{"5\r\nhel", "hel", false},
		{"-1\r\nx\r\n0\r\n\r\n", "", false},
		{"0x5\r\nhello\r\n0\r\n\r\n", "", false},
		{" 5\r\nhello\r\n0\r\n\r\n", "", false},
		{"\r\n", "", false},
		{"ffffffffffffffff\r\nx", "", false},
		{"5" + strings.Repeat(" ", 100) + "\r\nhello\r\n0\r\n\r\n", "", false},
		{"0\r\n" + strings.Repeat("X: y\r\n", 5000) + "\r\n", "", false},
	} {
		got, err := readChunks([]byte(tc.in), 3)
		if string(got) != tc.want || (err == nil) != tc.ok {
			t.Errorf("%.40q: got %q, %v; want %q, ok %v", tc.in, got, err, tc.want, tc.ok)
		}
	}
}

// FuzzChunks holds that what is taken for a chunked body is one for the standard library too, with the
// same payload, and that the body found in one packet is the same as that read in pieces.
func FuzzChunks(f *testing.F) {
	for _, s := range []string{"0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", "5;x\r\nhello\r\n0\r\nA: b\r\n\r\n", "a\r\nhello", "1\r\na\r\n2 \r\nbc\r\n0\r\n\r\nHTTP/1.1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := readChunks(in, 7)
		if err == nil {
			want, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(in)))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("got %q; the standard library %q, %v", got, want, err)
			}
		}
		var whole []byte
		size, ok := wholeChunks(in, nil)
		if !ok {
			return
		}
		wholeChunks(in, func(p []byte) { whole = append(whole, p...) })
		if err != nil {
			// Lines longer than the reader's small buffer are refused there.
			if len(in) < 64 {
				t.Errorf("%q is whole in one packet, and not in pieces: %v", in, err)
			}
			return
		}
		if size > len(in) || !bytes.Equal(whole, got) {
			t.Errorf("%q: %q in one packet, %q in pieces", in, whole, got)
		}
	})
}
