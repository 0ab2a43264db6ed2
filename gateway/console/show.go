package console

import (
	"encoding/json"
	"fmt"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/pprofhandler"
)

func text(ctx *fasthttp.RequestCtx, status int, body string) {
	ctx.SetStatusCode(status)
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyString(body)
}

// answer writes v as one line of JSON.
func answer(ctx *fasthttp.RequestCtx, v any) error {
	encoded, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("cannot encode the answer: %w", err)
	}
	ctx.SetContentType("application/json")
	ctx.Response.SetBodyRaw(append(encoded, '\n'))
	return nil
}

func healthz(_ *Console, ctx *fasthttp.RequestCtx, _ visitor) error {
	text(ctx, fasthttp.StatusOK, "ok\n")
	return nil
}

func (c *Console) readyz(ctx *fasthttp.RequestCtx, _ visitor) error {
	if ok, why := c.options.Ready(); !ok {
		text(ctx, fasthttp.StatusServiceUnavailable, "not ready: "+why+"\n")
		return nil
	}
	text(ctx, fasthttp.StatusOK, "ready\n")
	return nil
}

func (c *Console) metrics(ctx *fasthttp.RequestCtx, _ visitor) error {
	ctx.SetContentType("text/plain; version=0.0.4; charset=utf-8")
	c.options.WriteMetrics(ctx)
	return nil
}

func (c *Console) snapshot(ctx *fasthttp.RequestCtx, _ visitor) error {
	if _, err := readParams(ctx); err != nil {
		return err
	}
	_, encoded, err := c.cache.current()
	if err != nil {
		return err
	}
	ctx.SetContentType("application/json")
	ctx.Response.SetBodyRaw(encoded)
	return nil
}

// maxProfileSeconds bounds a profile or trace: the server cannot tell that its reader has left.
const maxProfileSeconds = 120

func profile(_ *Console, ctx *fasthttp.RequestCtx, _ visitor) error {
	if args := ctx.QueryArgs(); args.Has("seconds") {
		if n, err := args.GetUint("seconds"); err != nil || n > maxProfileSeconds {
			return badRequest("seconds must be a whole number from 0 to %d: a profile is not stopped when its reader leaves.", maxProfileSeconds)
		}
	}
	if string(ctx.Path()) == "/debug/pprof" {
		ctx.Redirect(profiles, fasthttp.StatusFound)
		return nil
	}
	pprofhandler.PprofHandler(ctx)
	return nil
}
