package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"tidegate/loadtest/openloop"
)

// aim is what the command line says of where the load goes and what is sent. What may be a secret (values of headers,
// the query, the body) is in no message made of it.
type aim struct {
	url, path, method string
	headers           []string
	body              string
	timeout           time.Duration
	mayLoad           string
}

func (a *aim) flags(flags *flag.FlagSet) {
	flags.StringVar(&a.url, "target", "", "`URL` of the upstream: http://127.0.0.1:9000, or https")
	flags.StringVar(&a.path, "path", "/", "what is asked for, with the query if there is one; write %20 for a space")
	flags.StringVar(&a.method, "method", "", "GET, or POST where there is a body. It is sent thousands of times: take care what it does")
	// Not checked here: the flag package puts a refused value into its message.
	flags.Func("header", "`'Name: value'` to be sent, may be repeated; @FILE reads such lines from a file, so that a key is not in the list of processes", func(s string) error {
		a.headers = append(a.headers, s)
		return nil
	})
	flags.StringVar(&a.body, "body", "", "`file` to be sent as the body, as JSON unless a header says what it is")
	flags.DurationVar(&a.timeout, "timeout", 10*time.Second, "of one request; longer counts as failed")
	flags.StringVar(&a.mayLoad, "may-load", "", "the target's `host` once more, if it is not this machine: you may put load on it, and nobody else is hurt")
}

// target is where the load goes, checked, and the one request that is sent.
type target struct {
	name    string // method and URL without the query
	headers []string
	request openloop.Request
	dial    func(ctx context.Context) (net.Conn, error)
}

// target checks all of it and finds the address once, so that nothing is sent elsewhere if a name changes its mind.
func (a *aim) target(ctx context.Context) (*target, error) {
	u, err := url.Parse(a.url)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, errors.New("cannot calibrate without a -target: it must be a URL such as http://127.0.0.1:9000")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("cannot calibrate -target: it must be scheme, host and port only; what is asked for belongs into -path, credentials into -header")
	}
	request, headers, err := a.request(u.Host)
	if err != nil {
		return nil, err
	}
	address, err := a.address(ctx, u)
	if err != nil {
		return nil, err
	}
	path, _, _ := strings.Cut(a.path, "?")
	t := &target{name: fmt.Sprintf("%s %s://%s%s", a.verb(), u.Scheme, u.Host, path), headers: headers, request: request}
	var dialer net.Dialer
	t.dial = func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", address) }
	if u.Scheme == "https" {
		secure := tls.Dialer{Config: &tls.Config{ServerName: u.Hostname(), NextProtos: []string{"http/1.1"}}}
		t.dial = func(ctx context.Context) (net.Conn, error) { return secure.DialContext(ctx, "tcp", address) }
	}
	return t, nil
}

// address resolves the host, and sees that it may be loaded.
func (a *aim) address(ctx context.Context, u *url.URL) (string, error) {
	host, port := u.Hostname(), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(addresses) == 0 {
		return "", fmt.Errorf("cannot calibrate %s: its address is not found: %w", host, err)
	}
	elsewhere := func(ip netip.Addr) bool { return !ip.Unmap().IsLoopback() }
	if slices.ContainsFunc(addresses, elsewhere) && a.mayLoad != host {
		return "", fmt.Errorf("cannot calibrate %s: it is not this machine, and what is sent is load, up to what it cannot carry. "+
			"If it is yours to load and nobody else depends on it now, say -may-load %s", host, host)
	}
	return net.JoinHostPort(addresses[0].Unmap().String(), port), nil
}

func (a *aim) verb() string {
	switch {
	case a.method != "":
		return a.method
	case a.body != "":
		return "POST"
	}
	return "GET"
}

// request renders what is sent, and names its headers.
func (a *aim) request(host string) (r openloop.Request, names []string, err error) {
	switch {
	case !isToken(a.verb()):
		return r, nil, errors.New("cannot calibrate with that -method: it must be a word such as GET or POST")
	case a.verb() == "HEAD":
		return r, nil, errors.New("cannot calibrate with -method HEAD: it says little of the work of an answer; use GET")
	case !strings.HasPrefix(a.path, "/") || strings.ContainsFunc(a.path, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '#' }):
		return r, nil, errors.New("cannot calibrate with that -path: it must begin with / and have no spaces, control characters or #; escape them with %")
	case a.timeout < time.Millisecond || a.timeout > time.Hour:
		return r, nil, fmt.Errorf("cannot calibrate with -timeout %v: it must be from 1ms to 1h", a.timeout)
	}
	headers, err := parseHeaders(a.headers)
	if err != nil {
		return r, nil, err
	}
	names = slices.Sorted(maps.Keys(headers))
	for name := range headers {
		switch strings.ToLower(name) {
		case "host":
			host = headers[name]
			delete(headers, name)
		case "content-length", "transfer-encoding", "connection", "expect", "upgrade":
			return r, nil, fmt.Errorf("cannot calibrate with the header %s: the client sets it itself", name)
		}
	}
	var body []byte
	if a.body != "" {
		if body, err = os.ReadFile(a.body); err != nil {
			return r, nil, fmt.Errorf("cannot read the -body: %w", err)
		}
	}
	return openloop.NewRequest(a.verb(), host, a.path, headers, string(body), a.timeout), names, nil
}

// parseHeaders reads lines "Name: value"; @FILE stands for the lines of a file. Its errors tell no value, and a name
// only where it is one.
func parseHeaders(given []string) (map[string]string, error) {
	headers, seen := make(map[string]string), make(map[string]bool)
	add := func(where, line string) error {
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !ok || !isToken(name) {
			return fmt.Errorf("cannot use %s: it must read 'Name: value'", where)
		}
		if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			return fmt.Errorf("cannot use the header %s: its value has control characters", name)
		}
		if key := strings.ToLower(name); seen[key] {
			return fmt.Errorf("cannot use the header %s: it is there twice", name)
		} else {
			seen[key] = true
		}
		headers[name] = value
		return nil
	}
	for i, line := range given {
		file, isFile := strings.CutPrefix(line, "@")
		if !isFile {
			if err := add(fmt.Sprintf("-header number %d", i+1), line); err != nil {
				return nil, err
			}
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("cannot read the headers: %w", err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			if line = strings.TrimRight(line, "\r"); strings.TrimSpace(line) == "" {
				continue
			}
			if err := add(fmt.Sprintf("%s:%d", file, n+1), line); err != nil {
				return nil, err
			}
		}
	}
	return headers, nil
}

// isToken says that a word may be a method or the name of a header.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", c)
	})
}
