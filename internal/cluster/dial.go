package cluster

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/catfish-index/catfish/internal/certs"
	"github.com/catfish-index/catfish/internal/wire"
)

// Protocol is what certificates are shown for between members: not for HTTP, nor gRPC.
const Protocol = "catfish-member"

// Dial opens a stream of a kind to a member, which shows a certificate of the address; c is nil
// without TLS.
func Dial(ctx context.Context, addr string, kind uint16, c *certs.Server) (net.Conn, error) {
	s, err := wire.DialStream(ctx, addr, kind)
	if err != nil || c == nil {
		return s, err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		s.Close()
		return nil, err
	}
	return tls.Client(s, c.Peer(host, Protocol)), nil
}
