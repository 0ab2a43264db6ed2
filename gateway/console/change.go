package console

import (
	"bytes"
	"net"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/config"
)

const (
	typeJSON = "application/json"
	typeTOML = "application/toml"
)

// maxReason is in characters: a reason is a line in lists and logs.
const maxReason = 500

// written is the body of a write, read.
type written struct {
	params  params
	fields  fields // of a JSON body
	toml    []byte // the body, where it is TOML
	release func() // gives the body's memory back; to be called whatever came of it
}

// shape says what a write takes.
type shape struct {
	params  []string // beside reason
	members []string // of the JSON body, beside reason; nil: no body is taken
	toml    bool     // the body may be TOML too
	limit   int      // bytes of the body
}

// takesConfig is the shape of what brings a config file along.
var takesConfig = shape{members: []string{"config"}, toml: true, limit: maxConfigBody}

// readWrite reads a write that the guard has let in. The role was looked at before: a body is read
// only of somebody who may make the change.
func (c *Console) readWrite(ctx *fasthttp.RequestCtx, takes shape) (w written, err error) {
	w.release = func() {}
	if w.params, err = readParams(ctx, append(takes.params, "reason")...); err != nil {
		return w, err
	}
	if coding := ctx.Request.Header.Peek("Content-Encoding"); len(coding) > 0 {
		return w, problemCoding
	}
	media := mediaType(ctx)
	switch {
	case takes.members == nil && hasBody(ctx):
		return w, badRequest("No body is taken here; everything is said in the query.")
	case media == typeTOML && !takes.toml:
		return w, problemJSONOnly
	case takes.members == nil:
		return w, nil
	}
	limit := takes.limit
	if media == typeTOML {
		limit = config.MaxFile
	}
	body, release, err := c.readBody(ctx, limit)
	w.release = release
	switch {
	case err != nil:
		return w, err
	case media == typeTOML:
		w.toml = body
		return w, nil
	}
	w.fields, err = parseObject(body, append(takes.members, "reason")...)
	return w, err
}

// change is who makes the change of a request and why. The reason is a member of the JSON body or a
// parameter of the query.
func (w written) change(ctx *fasthttp.RequestCtx, who visitor) (Change, error) {
	reason, err := w.fields.text("reason")
	if err != nil {
		return Change{}, err
	}
	if query := w.params["reason"]; query != "" {
		if reason != "" {
			return Change{}, badRequest("The reason is given twice: in the body and in the query.")
		}
		reason = query
	}
	reason = strings.TrimSpace(reason)
	if !utf8.ValidString(reason) || strings.ContainsFunc(reason, unicode.IsControl) || utf8.RuneCountInString(reason) > maxReason {
		return Change{}, badRequest("reason must be one line of at most %d characters.", maxReason)
	}
	return Change{Actor: who.actor(), Role: who.role.String(), From: peer(ctx.RemoteAddr()), Reason: reason}, nil
}

// actor is the name under which changes are kept.
func (v visitor) actor() string {
	if v.name == "" {
		return "loopback"
	}
	return v.name
}

// peer is the other end's address, without its port, which says nothing.
func peer(remote net.Addr) string {
	if tcp, ok := remote.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().String()
	}
	return remote.String()
}

// config is the config file that a body is or has.
func (w written) config() ([]byte, error) {
	text := w.toml
	if w.fields != nil {
		inJSON, err := w.fields.text("config")
		if err != nil {
			return nil, err
		}
		text = []byte(inJSON)
	}
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return nil, badRequest("The config is empty. Send it as the body with Content-Type: %s, or as the member config with %s.", typeTOML, typeJSON)
	case len(text) > config.MaxFile:
		return nil, tooLarge(config.MaxFile)
	}
	return text, nil
}

// readConfig reads a request whose body is a config. What is held for it has to be released, error or not.
func (c *Console) readConfig(ctx *fasthttp.RequestCtx) (w written, text []byte, err error) {
	if w, err = c.readWrite(ctx, takesConfig); err == nil {
		text, err = w.config()
	}
	return w, text, err
}

// putConfig makes a text the config file, if what it was made from is still in force.
func (c *Console) putConfig(ctx *fasthttp.RequestCtx, who visitor) error {
	ifMatch, err := c.ifMatch(ctx)
	if err != nil {
		return err
	}
	if ifMatch == "" {
		return problemUnconditional
	}
	w, text, err := c.readConfig(ctx)
	defer w.release()
	if err != nil {
		return err
	}
	change, err := w.change(ctx, who)
	if err != nil {
		return err
	}
	return changed(ctx)(c.options.Control.Put(change, ifMatch, text))
}

// rollback brings a kept version's text back.
func (c *Console) rollback(ctx *fasthttp.RequestCtx, who visitor) error {
	ifMatch, err := c.ifMatch(ctx)
	if err != nil {
		return err
	}
	w, err := c.readWrite(ctx, shape{members: []string{"version"}, limit: maxBody})
	defer w.release()
	if err != nil {
		return err
	}
	number, err := w.fields.number("version", 1)
	if err != nil {
		return err
	}
	change, err := w.change(ctx, who)
	if err != nil {
		return err
	}
	return changed(ctx)(c.options.Control.Rollback(change, ifMatch, number))
}

// reload reads the config file now.
func (c *Console) reload(ctx *fasthttp.RequestCtx, who visitor) error {
	w, err := c.readWrite(ctx, shape{members: []string{}, limit: maxBody})
	defer w.release()
	if err != nil {
		return err
	}
	change, err := w.change(ctx, who)
	if err != nil {
		return err
	}
	return changed(ctx)(c.options.Control.Reload(change))
}

// ifMatch is the request's If-Match, empty where there is none.
func (c *Console) ifMatch(ctx *fasthttp.RequestCtx) (string, error) {
	field, sent := conditions(ctx, "If-Match")
	if !sent {
		return "", nil
	}
	list, ok := parseTags(field)
	if !ok {
		return "", problemIfMatch
	}
	if !list.any && len(list.tags) == 0 {
		// A list of no tags matches nothing. Passed on, it would look as if nothing was asked for.
		_, etag := c.options.Control.Text()
		return "", &Failure{Code: CodePrecondition, Detail: "If-Match names no entity tag, so nothing can match it.", ETag: etag}
	}
	return field, nil
}

// changed answers what a change came to.
func changed(ctx *fasthttp.RequestCtx) func(*Changed, error) error {
	return func(made *Changed, err error) error {
		if err != nil {
			return err
		}
		view := *made
		view.RestartNeeded = head(view.RestartNeeded, len(view.RestartNeeded))
		view.Notes = head(view.Notes, len(view.Notes))
		if view.ETag != "" {
			ctx.Response.Header.Set("ETag", view.ETag)
		}
		return answer(ctx, view)
	}
}
