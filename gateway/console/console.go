// Package console is the operators' listener: the page, the API, the metrics and the probes. It
// shows a read model that others make, and holds no state of the data plane.
//
// Nobody gets further than the probes without passing the guard: the request must name a host
// that is this listener (else a web site whose name was pointed at it could read it), must not come
// from another web page, and must carry a token where tokens are configured or the listener can be
// reached from other machines.
package console

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"go.uber.org/zap"

	"tidegate/gateway/config"
)

// Options is what the console shows, what it can have changed, and whom it lets in. The functions must
// be safe for concurrent use. What is asked of one that is nil is answered with 503, not_ready; but Snapshot,
// Ready, WriteMetrics, Control, Redact and Log must be there.
type Options struct {
	// Tokens let operators in. Without any, whoever reaches a loopback listener is let in, and
	// nobody is let in through another one.
	Tokens []config.Token
	// Listen is the address of the listener, host:port, as configured.
	Listen string
	// Gateway is the data plane's address, told to whoever has no traffic yet; may be empty.
	Gateway string
	// Snapshot makes the read model. It is called at most once in 100 ms. A nil answer means that
	// there is none yet.
	Snapshot func() *Snapshot
	// Ready says whether new requests should be sent here, and why not.
	Ready func() (ok bool, why string)
	// WriteMetrics writes the Prometheus text format.
	WriteMetrics func(w io.Writer)
	// Explain says which rule a request would meet, as what encodes to JSON. Its error is told to
	// whoever asked.
	Explain func(ExplainQuery) (any, error)
	// Explained is a value of the type that Explain answers with, for the OpenAPI document; may be nil.
	Explained any
	// Flows are a page of flows. Its error says what is wrong with the cursor, and is told to whoever
	// asked; nothing else about the query can be wrong.
	Flows func(FlowsQuery) (FlowsPage, error)
	// Refusals are those that are kept and fit, newest first.
	Refusals func(RefusalsQuery) []RefusalView
	// Queue is who waits, at most limit of them one by one. A nil answer means that there is no queue yet.
	Queue func(limit int) *QueueView
	// Callers are a page of callers.
	Callers func(CallersQuery) CallersPage
	// Caller is all that is known of one; not ok: the configuration has none of that id.
	Caller func(id string) (d CallerDetail, ok bool)
	// History is how something was; its error says what is wrong with the name.
	History func(HistoryQuery) (HistoryView, error)
	// Registrations are all that callers have made, those that wait first.
	Registrations func() []RegistrationView
	// Audit are entries of the trail, newest first.
	Audit func(AuditQuery) []AuditEntry
	// Audited takes in what the console itself has to say: who logged in or out, and who was refused. It
	// sets ID and Time. It never blocks on a disk.
	Audited func(AuditEntry)
	// Alerts are those of late.
	Alerts func() AlertsView
	// Check says what a text would be as the config file. It changes nothing.
	Check func(text []byte) CheckView
	// Preview plays the traffic of the last minutes under the configuration in force and under the text. It
	// changes nothing; one at a time is played. A *Failure with CodePreviewBusy, CodeNothingToPlay or CodeConfigInvalid.
	Preview func(text []byte) (*PreviewView, error)
	// DecideRegistration lets a caller's registration be active, or refuses it, or with approve nil forgets it.
	// A *Failure with CodeRegistrationUnknown, or CodeSemanticUnknown where the configuration has no such semantic.
	DecideRegistration func(c Change, caller, semantic string, approve *bool) (RegistrationView, error)
	// TestAlert sends a test to the webhook. A *Failure with CodeNoWebhook, or CodeAlertBusy.
	TestAlert func(c Change) (AlertView, error)
	// StateDir is where the key of sessions is kept; "": it is another one after each start.
	StateDir string
	// Control makes the changes that operators ask for.
	Control Control
	// Redact cuts the hashes of keys and tokens short in a config file's text, or out of a diff of one. It
	// leaves text as it is, and answers with a copy.
	Redact func(text []byte) []byte
	// Log gets what an operator should know of this listener; never a token.
	Log *zap.Logger
}

// Console answers on the operators' listener. Safe for concurrent use.
type Console struct {
	options Options
	guard   guard
	bodies  bodyMemory // of configs
	small   bodyMemory // of all else
	cache   cache
	streams streams
	live    map[string]liveFile
	asks    loginPage

	document func() ([]byte, error)
	sessions *sessions
	noted    noted
	checking sync.Mutex

	server *fasthttp.Server
	tokens atomic.Pointer[[]token]
}

// maxConnections lets a thousand clients write at once, with place for those who look. It bounds the
// memory that whoever reaches the listener can take without a token: 60 KiB a connection with a header of
// 16 KiB, and 260 KiB if he cuts that into thousands of fields, so 75 and at worst 330 MiB in all. The
// bodies of those who have a token share maxBodies, and decoding holds at most twice that beside it: 100 MiB.
const maxConnections = 1280

// New makes a console. It starts nothing.
func New(o Options) *Console {
	c := &Console{
		options: o,
		guard:   newGuard(o.Listen),
		bodies:  bodyMemory{free: maxBodies},
		small:   bodyMemory{free: maxSmall},
		cache:   cache{source: o.Snapshot},
		live:    page().files,
		asks:    page().login,

		document: sync.OnceValues(func() ([]byte, error) { return encodeDocument(o.Explained) }),
		sessions: newSessions(o.StateDir, o.Log),
	}
	c.streams.frame, c.streams.stays = c.event, c.stays
	c.Update(o.Tokens)
	c.server = &fasthttp.Server{
		Handler:      c.Handler,
		ErrorHandler: c.malformed,
		// The library's messages quote the bytes it could not parse, and with them a token.
		Logger:                silent{},
		NoDefaultServerHeader: true,
		// Nothing here is cached, so nothing needs a date; the library would tell it by a goroutine
		// that never ends.
		NoDefaultDate:  true,
		ReadTimeout:    10 * time.Second,
		WriteTimeout:   30 * time.Second, // of an answer that is complete: a profile's recording is not in it
		IdleTimeout:    75 * time.Second,
		ReadBufferSize: 16 << 10, // of the header
		// A body is read when the guard has let its request in, and not by the library, which would
		// have all of it in memory by then. Of a body over MaxRequestBodySize it reads no more than that
		// ahead, so here one byte; how much is taken is for readBody to say.
		StreamRequestBody:            true,
		MaxRequestBodySize:           1,
		DisablePreParseMultipartForm: true,
		Concurrency:                  maxConnections,
	}
	return c
}

// Update changes the tokens. Requests that come later see them, and the streams of those whose token is gone end.
func (c *Console) Update(tokens []config.Token) {
	parsed := parseTokens(tokens)
	c.tokens.Store(&parsed)
	c.streams.endWithout(c.stays)
}

// Serve answers on ln until Shutdown, and closes it.
func (c *Console) Serve(ln net.Listener) error { return c.server.Serve(ln) }

// shutdownTimeout is short: all answers but a profile take milliseconds.
const shutdownTimeout = 2 * time.Second

// Shutdown stops listening, ends the streams and waits for the answers under way, at most two seconds.
func (c *Console) Shutdown() error {
	c.streams.end()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	return c.server.ShutdownWithContext(ctx)
}

// Handler answers one request.
func (c *Console) Handler(ctx *fasthttp.RequestCtx) {
	defer c.recovered(ctx)
	secure(ctx)
	e, found, allow := find(string(ctx.Method()), string(ctx.Path()))
	if found && e.open() {
		if err := e.serve(c, ctx, visitor{}); err != nil {
			c.refuse(ctx, err)
		}
		return
	}
	if refused := c.meant(ctx); refused != nil {
		refused.write(ctx)
		return
	}
	var who visitor
	if !found || !e.greets() {
		var refused *problem
		if who, refused = c.authenticate(ctx); refused != nil {
			if refused.Status == fasthttp.StatusUnauthorized && wantsPage(ctx) {
				c.asks.write(ctx)
				return
			}
			refused.write(ctx)
			return
		}
	}
	switch {
	case !readOnly(ctx) && !mayWrite(ctx):
		problemType.write(ctx)
	case len(allow) == 0:
		problemNotFound.write(ctx)
	case !found:
		methods := strings.Join(allow, ", ")
		ctx.Response.Header.Set("Allow", methods)
		problemMethod(string(ctx.Method()), methods).write(ctx)
	case who.role < e.role:
		c.auditRole(ctx, who, e.action)
		problemRole(e, who).write(ctx)
	default:
		if err := e.serve(c, ctx, who); err != nil {
			c.refuse(ctx, err)
		}
	}
}

func readOnly(ctx *fasthttp.RequestCtx) bool { return ctx.IsGet() || ctx.IsHead() }

// secure sets what every answer has. The page's own files have a policy that lets it load them and nothing
// else, so injected markup could neither run nor load anything.
func secure(ctx *fasthttp.RequestCtx) {
	h := &ctx.Response.Header
	h.Set("Content-Security-Policy", policyNone)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// malformed answers what is no HTTP request. The error is not said: it quotes what was sent.
func (c *Console) malformed(ctx *fasthttp.RequestCtx, _ error) {
	secure(ctx)
	problemMalformed.write(ctx)
	ctx.SetConnectionClose()
}

// silent drops the server library's messages.
type silent struct{}

func (silent) Printf(string, ...any) {}
