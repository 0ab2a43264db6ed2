package record

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// AccessFormat is a format of access logs.
type AccessFormat string

// The formats. All begin with address, identity, user, [time], "request", status and bytes.
const (
	AccessCommon   AccessFormat = "common"   // nothing more
	AccessCombined AccessFormat = "combined" // and "referer" and "user agent"; the time is that of arrival
	AccessNginx    AccessFormat = "nginx"    // the same; the time is that of the end, and the request's time may follow, in seconds
	AccessAuto     AccessFormat = "auto"     // each line is taken for the most that it can be
)

// ParseAccessFormat reads a format's name.
func ParseAccessFormat(s string) (AccessFormat, error) {
	switch f := AccessFormat(s); f {
	case AccessCommon, AccessCombined, AccessNginx, AccessAuto:
		return f, nil
	}
	return "", fmt.Errorf("format %q: must be nginx, combined, common or auto", s)
}

// Access is one line of an access log. What is empty, the log did not say; the bytes are valid until the next call.
type Access struct {
	Address, User []byte
	Time          int64 // seconds since 1970
	Method        []byte
	Host          []byte // where the request named it with the path
	Target        []byte // path and query as they were sent
	Status        int
	Bytes         int64 // sent, -1 if the log does not say
	Took          time.Duration
	Ended         bool     // Took is known, and Time is when the request ended
	Fields        [][]byte // all of them, without quotes and brackets
}

// AccessParser reads lines of access logs. Not safe for concurrent use.
type AccessParser struct {
	Format AccessFormat

	fields [][]byte
	quoted []bool
	text   []byte // of the target, if it had escapes
	stamp  []byte // the time last read: a busy log has many lines of one second
	time   int64
}

const (
	fieldTime      = 3
	fieldRequest   = 4
	fieldStatus    = 5
	fieldBytes     = 6
	fieldAgent     = 8
	maxAccessField = 64
)

// Parse reads a line.
func (p *AccessParser) Parse(line []byte) (a Access, err error) {
	if err := p.split(line); err != nil {
		return a, err
	}
	f := p.fields
	full := len(f) > fieldAgent && p.quoted[fieldAgent-1] && p.quoted[fieldAgent]
	if !full && (p.Format == AccessCombined || p.Format == AccessNginx) {
		return a, errors.New(`it ends before "referer" and "user agent"; try -format common`)
	}
	a = Access{Address: f[0], User: f[2], Bytes: -1, Fields: f}
	if string(a.User) == "-" {
		a.User = nil
	}
	if a.Time, err = p.parseTime(f[fieldTime]); err != nil {
		return a, err
	}
	if a.Status, err = strconv.Atoi(string(f[fieldStatus])); err != nil || a.Status < 0 || a.Status > 999 {
		return a, fmt.Errorf("%.40q is no status", f[fieldStatus])
	}
	if b := f[fieldBytes]; string(b) != "-" {
		if a.Bytes, err = strconv.ParseInt(string(b), 10, 64); err != nil || a.Bytes < 0 {
			return a, fmt.Errorf("%.40q is no number of bytes", b)
		}
	}
	p.request(&a, f[fieldRequest])
	if full && (p.Format == AccessNginx || p.Format == AccessAuto) {
		a.Took, a.Ended = p.requestTime()
	}
	return a, nil
}

// split finds the fields. A user may have blanks in his name, so the time is looked for by its bracket.
func (p *AccessParser) split(line []byte) error {
	p.fields, p.quoted = p.fields[:0], p.quoted[:0]
	add := func(field []byte, quoted bool) {
		p.fields, p.quoted = append(p.fields, field), append(p.quoted, quoted)
	}
	who, rest, ok := bytes.Cut(line, []byte(" ["))
	address, who, ok1 := bytes.Cut(who, []byte{' '})
	identity, user, ok2 := bytes.Cut(who, []byte{' '})
	stamp, rest, ok3 := bytes.Cut(rest, []byte("] "))
	if !ok || !ok1 || !ok2 || !ok3 || len(address) == 0 || len(user) == 0 {
		return errors.New(`it does not begin with: address - user [time] "request"`)
	}
	add(address, false)
	add(identity, false)
	add(user, false)
	add(stamp, false)
	for len(rest) > 0 && len(p.fields) < maxAccessField {
		if rest[0] != '"' {
			field, more, _ := bytes.Cut(rest, []byte{' '})
			add(field, false)
			rest = more
			continue
		}
		end := 1
		for end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(rest) {
			return errors.New("a quote is not closed")
		}
		add(rest[1:end], true)
		rest = bytes.TrimPrefix(rest[end+1:], []byte{' '})
	}
	if len(p.fields) <= fieldBytes || !p.quoted[fieldRequest] {
		return errors.New(`it does not go on with: "request" status bytes`)
	}
	return nil
}

// parseTime reads 02/Jan/2006:15:04:05 -0700.
func (p *AccessParser) parseTime(b []byte) (int64, error) {
	if len(b) > 0 && bytes.Equal(b, p.stamp) {
		return p.time, nil
	}
	t, err := time.Parse("02/Jan/2006:15:04:05 -0700", string(b))
	if err != nil {
		return 0, fmt.Errorf("%.40q is no time like 02/Jan/2006:15:04:05 -0700", b)
	}
	p.stamp, p.time = append(p.stamp[:0], b...), t.Unix()
	return p.time, nil
}

// request reads `GET /path HTTP/1.1`. What is sent to a port is not always a request; then nothing is known of it but
// that it came.
func (p *AccessParser) request(a *Access, b []byte) {
	if bytes.IndexByte(b, '\\') >= 0 {
		p.text = unescape(p.text[:0], b)
		b = p.text
	}
	method, target, ok := bytes.Cut(b, []byte{' '})
	if i := bytes.LastIndexByte(target, ' '); i >= 0 {
		target = target[:i]
	}
	if !ok || len(method) == 0 || len(target) == 0 {
		return
	}
	for _, c := range method {
		if (c < 'A' || c > 'Z') && c != '-' {
			return
		}
	}
	if i := bytes.Index(target, []byte("://")); i > 0 && target[0] != '/' {
		host := target[i+3:]
		slash := bytes.IndexByte(host, '/')
		if slash < 0 {
			a.Method, a.Host, a.Target = method, host, []byte{'/'}
			return
		}
		a.Host, target = host[:slash], host[slash:]
	}
	a.Method, a.Target = method, target
}

// unescape undoes \xHH, \" and \\, by which servers keep a line a line.
func unescape(dst, b []byte) []byte {
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			dst = append(dst, b[i])
			continue
		}
		i++
		if b[i] == 'x' && i+2 < len(b) {
			if v, err := strconv.ParseUint(string(b[i+1:i+3]), 16, 8); err == nil {
				dst = append(dst, byte(v))
				i += 2
				continue
			}
		}
		dst = append(dst, b[i])
	}
	return dst
}

// requestTime finds the first unquoted number of seconds with a fraction behind the user agent.
func (p *AccessParser) requestTime() (time.Duration, bool) {
	for i := fieldAgent + 1; i < len(p.fields); i++ {
		if b := p.fields[i]; !p.quoted[i] && bytes.IndexByte(b, '.') > 0 && len(b) <= 16 {
			if s, err := strconv.ParseFloat(string(b), 64); err == nil && s >= 0 && s < 1e7 {
				return time.Duration(s*1e6+0.5) * time.Microsecond, true
			}
		}
	}
	return 0, false
}
