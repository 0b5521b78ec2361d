package cqueue

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// pair stands for a queue pair; only its identity matters.
type pair struct {
	rdma.QueuePair
	id int
}

// take collects exactly n completions.
func take(t *testing.T, q *Queue, n int) []rdma.Completion {
	t.Helper()
	out := make([]rdma.Completion, n)
	for got := 0; got < n; {
		k := q.Poll(out[got:])
		if got += k; k == 0 {
			must(t, q.Wait(context.Background(), time.Minute))
		}
	}
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestQueueGrowsInOrder(t *testing.T) {
	c, q := New(1, 0), &pair{}
	var next, taken uint64
	for round := range 50 {
		for range round {
			c.Push([]rdma.Completion{{Op: rdma.OpRead, ID: next, QP: q},
				{Op: rdma.OpRead, ID: next + 1, QP: q}})
			next += 2
		}
		for _, e := range take(t, c, round) {
			if e.ID != taken {
				t.Fatalf("got %d, want %d", e.ID, taken)
			}
			taken++
		}
	}
	if c.n.Load() != int64(next-taken) {
		t.Errorf("%d entries, want %d", c.n.Load(), next-taken)
	}
}

func TestQueuePurge(t *testing.T) {
	c := New(1, 0)
	keep, gone := &pair{id: 1}, &pair{id: 2}
	for i := range uint64(30) {
		q := keep
		if i%3 == 0 {
			q = gone
		}
		c.Push([]rdma.Completion{{Op: rdma.OpRead, ID: i, QP: q}})
	}
	c.Purge(gone)
	for i, e := range take(t, c, 20) {
		if want := uint64(i + i/2 + 1); e.ID != want || e.QP != rdma.QueuePair(keep) {
			t.Fatalf("entry %d is %d, want %d", i, e.ID, want)
		}
	}
	if n := c.Poll(make([]rdma.Completion, 1)); n != 0 {
		t.Error("more is left than was not purged")
	}
}

func TestQueueWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(1, -1) // the bubble's clock stands still while a goroutine spins
		bg := context.Background()
		start := time.Now()
		for _, d := range []time.Duration{0, time.Second, time.Minute} {
			if err := c.Wait(bg, d); !errors.Is(err, rdma.ErrTimeout) {
				t.Errorf("Wait(%v): %v", d, err)
			}
		}
		if took := time.Since(start); took != time.Second+time.Minute {
			t.Errorf("the timeouts took %v", took)
		}
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		for range 2 { // the second time it is done already
			if err := c.Wait(ctx, -1); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Wait with a done context: %v", err)
			}
		}
		c.Wake()
		must(t, c.Wait(bg, 0))
		if err := c.Wait(bg, 0); !errors.Is(err, rdma.ErrTimeout) {
			t.Errorf("one Wake ended two Waits: %v", err)
		}
		for _, wake := range []func(){
			c.Wake,
			func() {
				c.Push([]rdma.Completion{{QP: &pair{}}})
			},
		} {
			time.AfterFunc(time.Second, wake)
			must(t, c.Wait(bg, -1))
			c.Poll(make([]rdma.Completion, 1))
		}
		time.AfterFunc(time.Second, c.Close)
		if err := c.Wait(bg, -1); !errors.Is(err, rdma.ErrClosed) {
			t.Errorf("Wait on a queue that is closed: %v", err)
		}
	})
}

// TestQueueNoLostWakeup lets pushes race with a waiter that goes to sleep.
func TestQueueNoLostWakeup(t *testing.T) {
	c := New(1, -1)
	const rounds = 20000
	var wg sync.WaitGroup
	defer wg.Wait()
	turn := make(chan struct{}, 1)
	wg.Go(func() {
		one := []rdma.Completion{{Op: rdma.OpRead, QP: &pair{}}}
		for range turn {
			c.Push(one)
		}
	})
	defer close(turn)
	for range rounds {
		turn <- struct{}{}
		take(t, c, 1)
	}
}
