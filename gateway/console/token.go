package console

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"go.uber.org/zap"

	"tidegate/gateway/config"
)

// role is what an operator may do; each includes those before it.
type role uint8

const (
	roleViewer   role = iota // looks, but not into memory
	roleOperator             // acts on what runs
	roleOwner                // changes the configuration
)

func (r role) String() string { return [...]string{"viewer", "operator", "owner"}[r] }

// visitor is whom the guard let in.
type visitor struct {
	name string // empty: no token was needed
	role role

	sum     [sha256.Size]byte // of the token
	session sessionID         // zero: the token itself was sent
	until   time.Time         // when the session ends
}

type token struct {
	visitor
	valid bool
}

// parseTokens keeps an entry for every token, also for one that cannot match anything: a listener
// with a broken token stays closed.
func parseTokens(tokens []config.Token) []token {
	parsed := make([]token, len(tokens))
	for i, t := range tokens {
		parsed[i].name = t.Name
		switch t.Role {
		case "owner":
			parsed[i].role = roleOwner
		case "operator":
			parsed[i].role = roleOperator
		}
		if sum, err := hex.DecodeString(strings.TrimPrefix(t.SHA256, "sha256:")); err == nil && len(sum) == sha256.Size {
			parsed[i].sum, parsed[i].valid = [sha256.Size]byte(sum), true
		}
	}
	return parsed
}

// match looks a token up by its hash. Every entry is compared, each in constant time, so the time
// it takes says nothing.
func match(tokens []token, sum [sha256.Size]byte) (visitor, bool) {
	found := -1
	for i := range tokens {
		if subtle.ConstantTimeCompare(tokens[i].sum[:], sum[:]) == 1 && tokens[i].valid {
			found = i
		}
	}
	if found < 0 {
		return visitor{}, false
	}
	return tokens[found].visitor, true
}

// withoutToken is who comes where no token is configured.
func (c *Console) withoutToken() (visitor, *problem) {
	if c.guard.loopback {
		return visitor{role: roleOwner}, nil
	}
	return visitor{}, problemOpenListener
}

func (c *Console) authenticate(ctx *fasthttp.RequestCtx) (visitor, *problem) {
	tokens := *c.tokens.Load()
	if len(tokens) == 0 {
		return c.withoutToken()
	}
	sent, ok := sentToken(ctx)
	if !ok {
		if who, ok := c.inSession(ctx, tokens); ok {
			return who, nil
		}
		challenge(ctx)
		return visitor{}, problemNoToken
	}
	who, _, refused := c.judge(ctx, tokens, sha256.Sum256(sent))
	return who, refused
}

// judge is whom a token lets in, and says of a wrong one whether it is another than the last.
func (c *Console) judge(ctx *fasthttp.RequestCtx, tokens []token, sum [sha256.Size]byte) (who visitor, counted bool, refused *problem) {
	from := source(ctx.RemoteAddr())
	who, known := match(tokens, sum)
	j := c.guard.attempts.judge(from, sum, known, time.Now())
	switch {
	case j.wait > 0: // the answer says nothing of the token: else guessing would go on behind it
		return visitor{}, false, lockedOut(ctx, j.wait)
	case known:
		return who, false, nil
	case j.locks:
		c.options.Log.Warn("console_locked_out", zap.Stringer("address", from),
			zap.Int("wrong_tokens", maxAttempts), zap.Duration("within", attemptSpan))
		c.audit(ctx, visitor{}, AuditEntry{Action: "locked_out", Outcome: outcomeRefused, Code: problemLockedOut.Code})
	}
	challenge(ctx)
	return visitor{}, j.counted, problemBadToken
}

func lockedOut(ctx *fasthttp.RequestCtx, wait time.Duration) *problem {
	ctx.Response.Header.Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	return problemLockedOut
}

// challenge names the way to send a token. That Basic is taken too, with the token as the password, is
// not said: a browser that hears of it asks with a window of its own, where the page has one.
func challenge(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set("WWW-Authenticate", `Bearer realm="tidegate"`)
}

// sentToken is the token of the request's one Authorization header.
func sentToken(ctx *fasthttp.RequestCtx) ([]byte, bool) {
	values := ctx.Request.Header.PeekAll("Authorization")
	if len(values) != 1 {
		return nil, false
	}
	scheme, rest, _ := bytes.Cut(values[0], []byte(" "))
	rest = bytes.TrimSpace(rest)
	switch strings.ToLower(string(scheme)) {
	case "bearer":
		return rest, len(rest) > 0
	case "basic":
		decoded, err := base64.StdEncoding.DecodeString(string(rest))
		if err != nil {
			return nil, false
		}
		_, password, _ := bytes.Cut(decoded, []byte(":"))
		return password, len(password) > 0
	}
	return nil, false
}

// source is what wrong tokens are counted by: an IPv4 address or an IPv6 /64, of which one machine
// usually has all.
func source(remote net.Addr) netip.Prefix {
	tcp, ok := remote.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	addr := tcp.AddrPort().Addr().Unmap().WithZone("")
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	prefix, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}
