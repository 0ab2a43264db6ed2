// Package gateway is the data plane. Handler.go is a request's way, in six stages; the other files
// are what the stages are made of, and what keeps them running: configuration that changes under
// load, the detector beside the way, the read model, start and shutdown.
package gateway
