package upstream

import (
	"bytes"
	"sync"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/octets"
)

// Most answers are plain: HTTP/1.1 with a Content-Length and a Date, short, all of it here after one
// read, and without a header that ends at this hop. Such an answer is passed on line by line as it
// came, without being taken apart and put together again. Everything else goes the long way, through
// fasthttp's parser; a plain answer and the long way look the same to the client.

// PlainAnswer is an answer that may be passed on as it is. Its bytes are valid during the call only.
type PlainAnswer struct {
	Status     int
	StatusLine []byte // with its CRLF
	Lines      []byte // header lines, each with its CRLF, without framing and what the exchange keeps out
	Body       []byte
}

var plainAnswers = sync.Pool{New: func() any { return &PlainAnswer{} }}

// PlainTaker is an Exchange that can give plain answers to the client by itself.
type PlainTaker interface {
	Exchange
	// KeepsOut says that a header of the answer is not passed on: the gateway has its own.
	KeepsOut(name []byte) bool
	// TakePlain takes the answer, or says false: then it goes the long way.
	TakePlain(a *PlainAnswer) bool
}

// plain waits for an answer on c and tries to pass it on. If it is not done and there is no error,
// nothing has been taken from c.
func (k *call) plain(c *conn) (done bool, err error) {
	taker, ok := k.x.(PlainTaker)
	if !ok || !k.http11 || k.ctx.Request.Header.IsHead() {
		return false, nil
	}
	if _, err := c.br.Peek(1); err != nil {
		return false, err
	}
	b, _ := c.br.Peek(c.br.Buffered())
	a := plainAnswers.Get().(*PlainAnswer)
	size := readPlain(b, a, taker)
	taken := size > 0 && taker.TakePlain(a)
	status, bytes := a.Status, int64(len(a.Body))
	*a = PlainAnswer{Lines: a.Lines[:0]}
	plainAnswers.Put(a)
	if !taken {
		return false, nil
	}
	_, _ = c.br.Discard(size)
	k.t.works(true)
	k.ctx.Response.SetStatusCode(status)
	res := Result{Status: status, Target: k.t.url, Bytes: bytes}
	k.t.leave(c, true)
	k.x.SeatDone(res)
	k.x.Finished(res)
	k.plainly = res
	return true, nil
}

// readPlain reads an answer from what has arrived, and returns its size; 0 if it is not plain.
func readPlain(b []byte, a *PlainAnswer, taker PlainTaker) (size int) {
	const start = len("HTTP/1.1 200 ")
	if len(b) < start || string(b[:9]) != "HTTP/1.1 " || b[12] != ' ' {
		return 0
	}
	for _, d := range b[9:12] {
		if d < '0' || d > '9' {
			return 0
		}
		a.Status = a.Status*10 + int(d-'0')
	}
	if a.Status < 200 || a.Status == fasthttp.StatusNoContent || a.Status == fasthttp.StatusNotModified {
		return 0
	}
	end := bytes.IndexByte(b, '\n') + 1
	if end < start || b[end-2] != '\r' || !octets.CleanValue(b[start:end-2]) {
		return 0
	}
	a.StatusLine = b[:end]
	length, dated := -1, false
	for {
		line := b[end:]
		i := bytes.IndexByte(line, '\n')
		if i < 1 || line[i-1] != '\r' {
			return 0 // not all here, or an odd line end
		}
		end += i + 1
		line = line[:i+1]
		if i == 1 {
			break
		}
		colon := 0
		for octets.Token[line[colon]] != 0 { // the line's end is none
			colon++
		}
		if colon == 0 || line[colon] != ':' {
			return 0
		}
		name, value := line[:colon], octets.Trim(line[colon+1:i-1])
		if !octets.CleanValue(value) {
			return 0
		}
		switch answerFieldOf(name) {
		case answerDate:
			dated = true
		case answerLength:
			if length >= 0 {
				return 0
			}
			if length = smallNumber(value); length < 0 {
				return 0
			}
			continue
		case answerConnection:
			if !octets.EqualFold(value, "keep-alive") {
				return 0
			}
			continue
		case answerType:
			if bytes.HasPrefix(value, eventStream) {
				return 0
			}
		case answerHop:
			return 0
		}
		if !taker.KeepsOut(name) {
			a.Lines = append(a.Lines, line...)
		}
	}
	if length < 0 || length > inlineMax || !dated || len(b)-end != length {
		return 0
	}
	a.Body = b[end:]
	return len(b)
}

// smallNumber reads a number of at most 6 digits; -1 if it is none.
func smallNumber(b []byte) int {
	if len(b) == 0 || len(b) > 6 {
		return -1
	}
	n := 0
	for _, d := range b {
		if d < '0' || d > '9' {
			return -1
		}
		n = n*10 + int(d-'0')
	}
	return n
}

// answerField is what a header line of an answer is to this hop.
type answerField uint8

const (
	answerEnd answerField = iota // goes on to the client
	answerDate
	answerLength
	answerConnection
	answerType
	answerHop // ends here
)

// answerFieldOf tells by the length first, which leaves a few names to compare.
func answerFieldOf(name []byte) answerField {
	is := func(lower string, f answerField) answerField {
		if octets.EqualFold(name, lower) {
			return f
		}
		return answerEnd
	}
	switch len(name) {
	case 4:
		return is("date", answerDate)
	case 7:
		return max(is("trailer", answerHop), is("upgrade", answerHop), is("alt-svc", answerHop))
	case 10:
		return max(is("connection", answerConnection), is("keep-alive", answerHop))
	case 12:
		return is("content-type", answerType)
	case 14:
		return is("content-length", answerLength)
	case 16:
		return is("proxy-connection", answerHop)
	case 17:
		return is("transfer-encoding", answerHop)
	case 18:
		return is("proxy-authenticate", answerHop)
	}
	return answerEnd
}
