package main

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// startPatience is for how long a server that refuses connections is tried again. One
// that was started beside its client, as in 'catfish serve & catfish load', listens
// after some 50 ms; who names a wrong port does not want to wait.
const startPatience = time.Second

// whileRefused repeats a dial that is refused, with growing pauses, and returns what
// the last one does. Other errors are returned at once.
func whileRefused(ctx context.Context, patience time.Duration, dial func() error) error {
	began := time.Now()
	for pause := 10 * time.Millisecond; ; pause *= 2 {
		err := dial()
		if !errors.Is(err, syscall.ECONNREFUSED) || time.Since(began)+pause > patience {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}
