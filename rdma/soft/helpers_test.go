package soft

import (
	"context"
	"net"
)

func opaqueDial(ctx context.Context, addr string) (net.Conn, error) {
	c, err := dialTCP(ctx, addr)
	if err != nil {
		return nil, err
	}
	return opaque{c}, nil
}
