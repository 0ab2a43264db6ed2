//go:build !unix

package upstream

import "net"

type probe struct{}

func newProbe(net.Conn) *probe { return nil }

func (*probe) alive() bool { return true }
