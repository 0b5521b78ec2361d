package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/catfish"
)

// The client waits, up to a limit, for a server that does not listen or is not ready.
func TestWhileStarting(t *testing.T) {
	refused := fmt.Errorf("no server: %w", syscall.ECONNREFUSED)
	notReady := fmt.Errorf("server: %w", catfish.ErrNotReady)
	other := errors.New("another")
	for _, c := range []struct {
		name     string
		patience time.Duration
		listens  time.Duration // after it do returns then
		then     error
		want     error
		took     time.Duration
	}{
		{"there", time.Second, 0, nil, nil, 0},
		{"soon there", time.Second, 50 * time.Millisecond, nil, nil, 70 * time.Millisecond},
		{"another answer", time.Second, 20 * time.Millisecond, other, other, 30 * time.Millisecond},
		{"never", time.Second, time.Hour, nil, syscall.ECONNREFUSED, 630 * time.Millisecond},
		{"never ready", time.Second, time.Second, nil, catfish.ErrNotReady, 630 * time.Millisecond},
		{"a short timeout", 25 * time.Millisecond, time.Hour, nil, syscall.ECONNREFUSED, 10 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := whileStarting(t.Context(), c.patience, func() error {
					switch took := time.Since(began); {
					case took < c.listens/2:
						return refused
					case took < c.listens:
						return notReady
					}
					return c.then
				})
				if took := time.Since(began); !errors.Is(err, c.want) || took != c.took {
					t.Errorf("%v after %v, want %v after %v", err, took, c.want, c.took)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began, tries := time.Now(), 0
		err := whileStarting(ctx, time.Hour, func() error {
			if tries++; tries == 2 {
				cancel()
			}
			return refused
		})
		if !errors.Is(err, syscall.ECONNREFUSED) || tries != 2 || time.Since(began) != 10*time.Millisecond {
			t.Errorf("%v, %d tries, %v", err, tries, time.Since(began))
		}
	})
}
