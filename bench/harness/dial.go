package harness

import (
	"context"
	"io"
	"sync"
	"time"
)

// dialAtOnce is how many connections are opened at a time: each waits for the
// server, which may have a busy thread for every other one.
const dialAtOnce = 16

// DialAll opens n connections. After an error it opens no more, and closes the others.
func DialAll[C io.Closer](n int, dial func(i int) (C, error)) ([]C, error) {
	var (
		mu    sync.Mutex
		first error
		conns = make([]C, n)
		open  = make([]bool, n)
		group sync.WaitGroup
		slots = make(chan struct{}, dialAtOnce)
	)
	failed := func() error {
		mu.Lock()
		defer mu.Unlock()
		return first
	}
	for i := range n {
		if slots <- struct{}{}; failed() != nil {
			break
		}
		group.Go(func() {
			c, err := dial(i)
			mu.Lock()
			defer mu.Unlock()
			if conns[i], open[i] = c, err == nil; err != nil && first == nil {
				first = err // The other errors are the same.
			}
			<-slots
		})
	}
	group.Wait()
	if first == nil {
		return conns, nil
	}
	for i, c := range conns {
		if open[i] {
			c.Close()
		}
	}
	return nil, first
}

// Sleep waits, but not longer than ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
