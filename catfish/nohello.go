package catfish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
)

// noHello says what is at an address if it did not answer as a server does.
func noHello(ctx context.Context, err error) error {
	var broken net.Error
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("something listens there, but does not answer: %w", ctx.Err())
	case errors.Is(err, io.EOF):
		return fmt.Errorf("something listens there, but ends the connection without an answer: %w", err)
	case errors.As(err, &broken):
		return err
	}
	return fmt.Errorf("what listens there is no Catfish server, by its answer: %w", err)
}
