package console

import (
	"bytes"
	"errors"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/pprofhandler"
	"go.uber.org/zap"

	"tidegate/dashboards"
)

// endpoint answers a GET or HEAD that the guard has let in.
type endpoint func(ctx *fasthttp.RequestCtx, who visitor)

// find is the endpoint at a path, or nil.
func (c *Console) find(path string) endpoint {
	switch path {
	case "/":
		return c.showPage
	case "/style.css":
		return showStyle
	case "/metrics":
		return c.metrics
	case "/api/v1/snapshot":
		return c.snapshot
	}
	if path == "/debug/pprof" || strings.HasPrefix(path, "/debug/pprof/") {
		return profile
	}
	return nil
}

func text(ctx *fasthttp.RequestCtx, status int, body string) {
	ctx.SetStatusCode(status)
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyString(body)
}

func (c *Console) readyz(ctx *fasthttp.RequestCtx) {
	ok, why := c.options.Ready()
	if !ok {
		text(ctx, fasthttp.StatusServiceUnavailable, "not ready: "+why+"\n")
		return
	}
	text(ctx, fasthttp.StatusOK, "ready\n")
}

func (c *Console) metrics(ctx *fasthttp.RequestCtx, _ visitor) {
	ctx.SetContentType("text/plain; version=0.0.4; charset=utf-8")
	c.options.WriteMetrics(ctx)
}

func (c *Console) snapshot(ctx *fasthttp.RequestCtx, _ visitor) {
	_, encoded, err := c.cache.current()
	if err != nil {
		c.failed(ctx, err)
		return
	}
	ctx.SetContentType("application/json")
	ctx.Response.SetBodyRaw(encoded)
}

func (c *Console) showPage(ctx *fasthttp.RequestCtx, _ visitor) {
	snapshot, _, err := c.cache.current()
	if err != nil {
		c.failed(ctx, err)
		return
	}
	var body bytes.Buffer
	view := pageView{Snapshot: snapshot, Gateway: c.options.Gateway, Paused: ctx.QueryArgs().Has("pause")}
	if err := c.page.Execute(&body, view); err != nil {
		c.failed(ctx, err)
		return
	}
	ctx.SetContentType("text/html; charset=utf-8")
	ctx.Response.SetBodyRaw(body.Bytes())
}

func (c *Console) failed(ctx *fasthttp.RequestCtx, err error) {
	if errors.Is(err, errNoSnapshot) {
		ctx.Response.Header.Set("Retry-After", "1")
		problemNoSnapshot.write(ctx)
		return
	}
	c.options.Log.Error("console_failed", zap.Error(err))
	problemInternal.write(ctx)
}

func showStyle(ctx *fasthttp.RequestCtx, _ visitor) {
	ctx.SetContentType("text/css; charset=utf-8")
	ctx.Response.SetBodyRaw(dashboards.Style())
}

// maxProfileSeconds bounds a profile or trace: the server cannot tell that its reader has left.
const maxProfileSeconds = 120

func profile(ctx *fasthttp.RequestCtx, who visitor) {
	if who.role == roleViewer {
		problemRole.write(ctx)
		return
	}
	if args := ctx.QueryArgs(); args.Has("seconds") {
		if n, err := args.GetUint("seconds"); err != nil || n > maxProfileSeconds {
			problemSeconds.write(ctx)
			return
		}
	}
	if string(ctx.Path()) == "/debug/pprof" {
		ctx.Redirect("/debug/pprof/", fasthttp.StatusFound)
		return
	}
	pprofhandler.PprofHandler(ctx)
}
