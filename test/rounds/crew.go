//go:build linux

package rounds

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/bench/netns"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
)

// crew is a process of clients, as its parent sees it.
type crew struct {
	number int // from 0
	cmd    *exec.Cmd
	p      *child.Process
	orders chan Order
	said   chan Said // Ready and Done
	ended  chan struct{}
	err    error // of an end, set when ended is closed
	stop   context.CancelFunc
}

// startCrew starts a process of clients in a namespace, and waits until they work.
func startCrew(ctx context.Context, program []string, namespace string, j Job, r *record) (*crew, error) {
	c := &crew{number: j.Number - 1, orders: make(chan Order), said: make(chan Said, 8), ended: make(chan struct{})}
	spawn := func(child.Role, affinity.Set) *exec.Cmd {
		args := netns.Inside(namespace, program...)
		c.cmd = exec.Command(args[0], args[1:]...)
		return c.cmd
	}
	var err error
	if c.p, err = child.Start(spawn, Role, nil, j, func(string) {}); err != nil {
		return nil, err
	}
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	go func() {
		defer close(c.ended)
		c.err = c.follow(following, r)
		c.p.Stop()
	}()
	if _, err = c.await(ctx); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// errOrder interrupts the wait for lines.
var errOrder = errors.New("rounds: an order")

// follow takes the lines of the process, and passes orders on, until ctx is done.
func (c *crew) follow(ctx context.Context, r *record) error {
	for {
		waiting, interrupt := context.WithCancelCause(ctx)
		var order *Order
		var listening sync.WaitGroup
		listening.Go(func() {
			select {
			case o := <-c.orders:
				order = &o
				interrupt(errOrder)
			case <-waiting.Done():
			}
		})
		var err error
		for err == nil {
			var s Said
			if err = c.p.Next(waiting, &s); err != nil {
				break
			}
			if s.Ready || s.Done {
				c.said <- s
			} else {
				r.take(c.number, &s)
			}
		}
		interrupt(nil)
		listening.Wait()
		if order == nil {
			return err
		}
		if err := c.p.Send(order); err != nil {
			return err
		}
	}
}

// order sends an order, and waits until it is done.
func (c *crew) order(ctx context.Context, o Order) (Said, error) {
	select {
	case c.orders <- o:
		return c.await(ctx)
	case <-c.ended:
		return Said{}, c.err
	case <-ctx.Done():
		return Said{}, context.Cause(ctx)
	}
}

// orderTime bounds an order: several reads of everything, at a member that is late.
const orderTime = 2 * time.Minute

func (c *crew) await(ctx context.Context) (Said, error) {
	ctx, cancel := context.WithTimeout(ctx, orderTime)
	defer cancel()
	select {
	case s := <-c.said:
		return s, nil
	case <-c.ended:
		return Said{}, fmt.Errorf("rounds: clients %d: %w", c.number+1, c.err)
	case <-ctx.Done():
		return Said{}, fmt.Errorf("rounds: clients %d: %w", c.number+1, context.Cause(ctx))
	}
}

func (c *crew) signal(s syscall.Signal) error { return c.cmd.Process.Signal(s) }

func (c *crew) close() {
	_ = c.signal(syscall.SIGCONT) // It may be stopped.
	c.stop()
	<-c.ended
}
