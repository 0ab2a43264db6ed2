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
	CodeVersionUnknown:  {404, "This version is not kept"},
	CodeOverrideUnknown: {404, "There is no such override"},
	CodeNotWritten:      {409, "The config file could not be written"},
	CodePrecondition:    {412, "Something else is in force by now"},
	CodeConfigInvalid:   {422, "The config has faults"},
	CodeOverrideInvalid: {422, "The override does not fit"},
	CodeStateNotWritten: {507, "The state could not be written"},
}

// configProblem is a config.Problem under the names of the API. The two have the same fields in the same
// order.
type configProblem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`   // from 1; 0: no line
	Column  int    `json:"column"` // from 1, in bytes; 0: no column
	Key     string `json:"key"`
	Name    string `json:"name"` // the key as its owner knows it
	Value   string `json:"value"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// problem is the failure as it is told; nil for a code that nobody knows.
func (f *Failure) problem() *problem {
	as, known := failureAs[f.Code]
	if !known {
		return nil
	}
	p := newProblem(as.status, f.Code, as.title, f.Detail)
	p.etag = f.ETag
	for _, of := range f.Problems {
		p.Problems = append(p.Problems, configProblem(of))
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
