package catfish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
)

// noHello says what is at an address if it did not answer as a server does.
func noHello(ctx context.Context, err error) error {
	var broken net.Error
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("something listens there, but does not answer: %w", ctx.Err())
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("what listens there ended the connection without an answer (a server that"+
			" ends, or has no room for more connections; try again later): %w", err)
	case errors.As(err, &broken):
		return err
	}
	return fmt.Errorf("what listens there is no Catfish server, by its answer (the ports of --grpc and --metrics are others): %w", err)
}
