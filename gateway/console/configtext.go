package console

import (
	"math"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/config"
)

// configText answers the config file, in force or of a kept version.
//
// What a viewer gets has no whole hashes, and so is another text than the one that is in force: its tag is a
// weak one, with which nothing can be written. Else whoever sent the redacted text back would take all
// callers' keys away.
func (c *Console) configText(ctx *fasthttp.RequestCtx, who visitor) error {
	p, err := readParams(ctx, "version")
	if err != nil {
		return err
	}
	number, err := p.number("version", 0, 1, math.MaxInt32)
	if err != nil {
		return err
	}
	var (
		text []byte
		etag string
	)
	if number == 0 {
		text, etag = c.options.Control.Text()
	} else {
		version, tag, err := c.options.Control.Version(number)
		if err != nil {
			return err
		}
		text, etag = []byte(version.Text), tag
	}
	if who.role == roleViewer {
		text = c.options.Redact(text)
		etag = "W/" + strings.TrimPrefix(etag, "W/")
	}
	ctx.Response.Header.Set("ETag", etag)
	if field, sent := conditions(ctx, "If-None-Match"); sent {
		if list, ok := parseTags(field); ok && list.match(etag, true) {
			ctx.SetStatusCode(fasthttp.StatusNotModified)
			return nil
		}
	}
	ctx.SetContentType("application/toml")
	ctx.Response.SetBodyRaw(text)
	return nil
}

// conditions is the one field that all fields of a name make.
func conditions(ctx *fasthttp.RequestCtx, name string) (field string, sent bool) {
	lines := ctx.Request.Header.PeekAll(name)
	for i, line := range lines {
		if i > 0 {
			field += ", "
		}
		field += string(line)
	}
	return field, len(lines) > 0
}

// versionView is a version without its text, which may be megabytes.
type versionView struct {
	Version   int               `json:"version"`
	Time      time.Time         `json:"time"`
	Actor     string            `json:"actor"`
	From      string            `json:"from"`
	Source    string            `json:"source"`
	Reason    string            `json:"reason"`
	Hash      string            `json:"hash"`
	Diff      string            `json:"diff"`
	Overrides []config.Override `json:"overrides"`
	Current   bool              `json:"current"` // in force
}

func (c *Console) versions(ctx *fasthttp.RequestCtx, who visitor) error {
	if _, err := readParams(ctx); err != nil {
		return err
	}
	kept := c.options.Control.Versions()
	list := make([]versionView, len(kept))
	for i, v := range kept {
		if who.role == roleViewer {
			v.Diff = string(c.options.Redact([]byte(v.Diff)))
		}
		list[i] = versionView{
			Version: v.Number, Time: v.Time, Actor: v.Actor, From: v.From, Source: v.Source, Reason: v.Reason,
			Hash: v.Hash, Diff: v.Diff, Overrides: head(v.Overrides, len(v.Overrides)), Current: i == 0,
		}
	}
	return answer(ctx, list)
}
