package console

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	sessionCookie = "tidegate_session"
	sessionSpan   = 12 * time.Hour
	maxLogin      = 1 << 10 // bytes of a login: strangers send it, so it takes nothing of the bodies' budget
)

// sessionID tells one login from another.
type sessionID [16]byte

// A session is a cookie with this in base64: when it ends, its ID, and the seal of both and of the hash of
// its token. The hash is in the seal only: the cookie tells nothing of the token, and it is worth nothing
// from the moment in which its token leaves the configuration.
const (
	sealedSize  = 8 + len(sessionID{})
	sessionSize = sealedSize + sha256.Size
)

func seal(key, sealed []byte, sum [sha256.Size]byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(sealed)
	h.Write(sum[:])
	return h.Sum(nil)
}

// sealSession is a new session's cookie for the token of that hash.
func sealSession(key []byte, sum [sha256.Size]byte, until time.Time) string {
	b := make([]byte, sealedSize, sessionSize)
	binary.BigEndian.PutUint64(b, uint64(until.Unix()))
	rand.Read(b[8:])
	return base64.RawURLEncoding.EncodeToString(append(b, seal(key, b, sum)...))
}

// openSession is whom a cookie lets in, by the tokens there are now. It does not look at the clock.
func openSession(key, cookie []byte, tokens []token) (who visitor, ok bool) {
	if len(cookie) != base64.RawURLEncoding.EncodedLen(sessionSize) {
		return visitor{}, false
	}
	b := make([]byte, sessionSize)
	if _, err := base64.RawURLEncoding.Strict().Decode(b, cookie); err != nil {
		return visitor{}, false
	}
	sealed, mark := b[:sealedSize], b[sealedSize:]
	for i := range tokens {
		if tokens[i].valid && hmac.Equal(mark, seal(key, sealed, tokens[i].sum)) {
			who, ok = tokens[i].visitor, true
		}
	}
	who.until = time.Unix(int64(binary.BigEndian.Uint64(sealed)), 0).UTC()
	copy(who.session[:], sealed[8:])
	return who, ok
}

// inSession is whom the request's cookie lets in. A cookie needs no lock-out: nobody guesses a seal.
func (c *Console) inSession(ctx *fasthttp.RequestCtx, tokens []token) (visitor, bool) {
	cookie := ctx.Request.Header.Cookie(sessionCookie)
	if len(cookie) == 0 {
		return visitor{}, false
	}
	who, ok := openSession(c.sessions.sealingKey(), cookie, tokens)
	if !ok || !c.sessions.lasts(who, time.Now()) {
		return visitor{}, false
	}
	return who, true
}

// SessionView is who asks.
type SessionView struct {
	Name  string     `json:"name"`  // the token's; "loopback" where none is needed
	Role  string     `json:"role"`  // viewer | operator | owner
	Login bool       `json:"login"` // a token is needed
	Until *time.Time `json:"until"` // when the session ends; null: there is none
	// Gateway is where callers send: host:port, as configured.
	Gateway string `json:"gateway"`
}

func (c *Console) sessionView(who visitor) SessionView {
	v := SessionView{Name: who.actor(), Role: who.role.String(), Login: who.name != "", Gateway: c.options.Gateway}
	if !who.until.IsZero() {
		v.Until = &who.until
	}
	return v
}

// session says who asks.
func (c *Console) session(ctx *fasthttp.RequestCtx, who visitor) error {
	if _, err := readParams(ctx); err != nil {
		return err
	}
	return answer(ctx, c.sessionView(who))
}

// login makes a session of a token. Whoever comes here is not known yet.
func (c *Console) login(ctx *fasthttp.RequestCtx, _ visitor) error {
	tokens := *c.tokens.Load()
	if len(tokens) == 0 {
		who, refused := c.withoutToken()
		if refused != nil {
			return refused
		}
		return answer(ctx, c.sessionView(who))
	}
	if wait := c.guard.attempts.lockedFor(source(ctx.RemoteAddr()), time.Now()); wait > 0 {
		return lockedOut(ctx, wait)
	}
	w, err := c.readWrite(ctx, shape{members: []string{"token"}, limit: maxLogin})
	defer w.release()
	if err != nil {
		return err
	}
	sent, err := w.fields.text("token")
	if err != nil {
		return err
	}
	if sent == "" {
		challenge(ctx)
		return problemNoToken
	}
	sum := sha256.Sum256([]byte(sent))
	who, counted, refused := c.judge(ctx, tokens, sum)
	if refused != nil {
		if counted {
			c.audit(ctx, visitor{}, AuditEntry{Action: "login", Outcome: outcomeRefused, Code: problemBadToken.Code})
		}
		return refused
	}
	who.until = time.Now().Add(sessionSpan).UTC().Truncate(time.Second)
	c.setCookie(ctx, sealSession(c.sessions.sealingKey(), sum, who.until), sessionSpan)
	c.audit(ctx, who, AuditEntry{Action: "login", Outcome: outcomeDone})
	return answer(ctx, c.sessionView(who))
}

// logout ends the session that the request came in; one with a token in its header has none.
func (c *Console) logout(ctx *fasthttp.RequestCtx, who visitor) error {
	w, err := c.readWrite(ctx, shape{members: []string{}, limit: maxBody})
	defer w.release()
	if err != nil {
		return err
	}
	if who.session != (sessionID{}) {
		c.sessions.end(who, time.Now())
		c.streams.endWithout(c.stays)
		c.audit(ctx, who, AuditEntry{Action: "logout", Outcome: outcomeDone})
	}
	c.setCookie(ctx, "", 0)
	return answer(ctx, SessionView{Login: who.name != ""})
}

// setCookie gives the browser its session, or with a span of nothing takes it away. Behind a proxy that
// speaks TLS the browser must not send it without.
func (c *Console) setCookie(ctx *fasthttp.RequestCtx, value string, span time.Duration) {
	secure := ""
	if bytes.HasPrefix(ctx.Request.Header.Peek("Origin"), []byte("https://")) {
		secure = "; Secure"
	}
	ctx.Response.Header.Add("Set-Cookie", sessionCookie+"="+value+
		"; Max-Age="+strconv.Itoa(int(span/time.Second))+"; Path=/; HttpOnly; SameSite=Strict"+secure)
}

// stays says whether somebody who was let in would be now.
func (c *Console) stays(who visitor) bool {
	tokens := *c.tokens.Load()
	if who.name == "" {
		_, refused := c.withoutToken()
		return len(tokens) == 0 && refused == nil
	}
	_, known := match(tokens, who.sum)
	return known && (who.session == sessionID{} || c.sessions.lasts(who, time.Now()))
}
