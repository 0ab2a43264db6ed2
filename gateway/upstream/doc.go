// Package upstream forwards an admitted request to one of an upstream's targets and the answer back.
//
// The seat that a request holds is not freed when Forward returns but when the target has no more
// work with it: when the last byte of the answer was read, or the connection closed. So the package
// reports two moments, each exactly once: SeatDone, and later Finished, when the client has what it
// will get.
//
// An answer goes one of three ways:
//
//   - inline: no body, or one that is short and complete. It is read at once, the seat is free, and
//     the server writes it like any answer of its own. Nothing is allocated.
//   - held: of known length and at most the answer buffer. It is read whole before a byte is written,
//     so a slow reader holds memory and no seat; a target that breaks off in the middle of it becomes
//     a clean error instead of half an answer.
//   - streamed: longer, of unknown length, or server-sent events. A goroutine reads ahead, at most the
//     answer buffer, while the server writes what has come; each piece is flushed.
//
// Connections are kept by the package itself and not by fasthttp.HostClient. It has to know whether a
// connection was used before, whether a byte of an answer was seen and whether a byte of the request
// was sent, since those decide if a request may be sent again; it has to read an answer while a body
// is still being sent; and its timeouts are between bytes, where HostClient's are totals that cut
// streams.
//
// The server that calls Forward must be set up with DisablePreParseMultipartForm, NoDefaultDate,
// NoDefaultContentType and NoDefaultServerHeader, or it would change what the target said.
//
// Limits of what is forwarded: trailers are dropped in both directions, upgrades and CONNECT are not
// made, and an answer of unknown length that does not fit the answer buffer cannot be given to an
// HTTP/1.0 client.
package upstream
