package console

import (
	"errors"
	"runtime/debug"

	"github.com/valyala/fasthttp"
	"go.uber.org/zap"
)

// failureAs says what a change that was not made is in HTTP, by its code.
var failureAs = map[string]struct {
	status int
	title  string
}{
	CodeRateBound:           {403, "The rate is above what an operator may set"},
	CodeVersionUnknown:      {404, "This version is not kept"},
	CodeOverrideUnknown:     {404, "There is no such override"},
	CodeRegistrationUnknown: {404, "There is no such registration"},
	CodeNotWritten:          {409, "The config file could not be written"},
	CodePrecondition:        {412, "Something else is in force by now"},
	CodeConfigInvalid:       {422, "The config has faults"},
	CodeOverrideInvalid:     {422, "The override does not fit"},
	CodeNothingToPlay:       {422, "No traffic is known yet"},
	CodeSemanticUnknown:     {422, "The config has no such semantic"},
	CodeNoWebhook:           {422, "No webhook is configured"},
	CodePreviewBusy:         {429, "Another preview is being played"},
	CodeAlertBusy:           {429, "A test was sent a moment ago"},
	CodeStateNotWritten:     {507, "The state could not be written"},
}

// problem is the failure as it is told; nil for a code that nobody knows.
func (f *Failure) problem() *problem {
	as, known := failureAs[f.Code]
	if !known {
		return nil
	}
	p := newProblem(as.status, f.Code, as.title, f.Detail)
	p.etag = f.ETag
	if len(f.Problems) > 0 {
		p.Problems = Problems(f.Problems)
	}
	return p
}

// refuse answers with an error.
func (c *Console) refuse(ctx *fasthttp.RequestCtx, err error) {
	var p *problem
	var f *Failure
	switch {
	case errors.As(err, &p):
	case errors.As(err, &f):
		p = f.problem()
	case errors.Is(err, errNoSnapshot):
		ctx.Response.Header.Set("Retry-After", "1")
		p = problemNoSnapshot
	}
	if p == nil {
		c.options.Log.Error("console_failed", zap.ByteString("path", ctx.Path()), zap.Error(err))
		p = problemInternal
	}
	p.write(ctx)
}

// recovered keeps a fault in what is shown to operators from ending the process, and with it everybody's
// traffic.
func (c *Console) recovered(ctx *fasthttp.RequestCtx) {
	fault := recover()
	if fault == nil {
		return
	}
	c.options.Log.Error("console_failed", zap.ByteString("path", ctx.Path()), zap.Any("panic", fault), zap.ByteString("stack", debug.Stack()))
	ctx.Response.Reset()
	secure(ctx)
	problemInternal.write(ctx)
	ctx.SetConnectionClose()
}
