package catfish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
)

// otherPorts names ports of the same server that do not speak its protocol. The HTTP
// port takes a hello for part of a request, and waits for the rest.
const otherPorts = "the ports of --http, --grpc and --metrics are others"

// noHello says what listens at an address, if it did not answer as a server does.
func noHello(ctx context.Context, err error) error {
	var broken net.Error
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("something listens there, but does not answer ("+otherPorts+"): %w", ctx.Err())
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("what listens there ended the connection without an answer (a server that"+
			" ends, or has no room for more connections; try again later): %w", err)
	case errors.As(err, &broken):
		return err
	}
	return fmt.Errorf("what listens there is no Catfish server, by its answer ("+otherPorts+"): %w", err)
}
