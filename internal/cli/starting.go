package cli

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/catfish"
)

// startPatience is how long a client retries while a server refuses connections, or has
// not loaded the requested collection. A server started beside its client, as in
// 'catfish serve & catfish load', listens after some 50 ms; a user who typed a wrong port
// does not want to wait.
const startPatience = time.Second

// whileStarting repeats do while it fails because the server starts, with growing pauses,
// and returns the error of the last attempt. It returns other errors at once.
func whileStarting(ctx context.Context, patience time.Duration, do func() error) error {
	began := time.Now()
	for pause := 10 * time.Millisecond; ; pause *= 2 {
		err := do()
		starts := errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, catfish.ErrNotReady)
		if !starts || time.Since(began)+pause > patience {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// kindOf returns the kind of the client's collection.
func kindOf(ctx context.Context, cl *catfish.Client) (kind string, err error) {
	err = whileStarting(ctx, startPatience, func() error {
		kind, err = cl.Kind(ctx)
		return err
	})
	return kind, err
}
