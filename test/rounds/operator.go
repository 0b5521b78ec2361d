//go:build linux

package rounds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	groupmap "github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
)

// operator changes the map of several groups, and looks at it as it changes.
type operator struct {
	r        *round
	listener net.Listener // leads into the coordinator's namespace
	registry *coord.Client
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu      sync.Mutex
	is      *placement.Map
	changed chan struct{} // closed when there is a later one
	begun   int           // moves
	moved   int           // slots that have got another owner
}

// newOperator connects to the coordinator. The map exists.
func newOperator(ctx context.Context, r *round) (*operator, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o := &operator{r: r, listener: l, changed: make(chan struct{})}
	ctx, o.stop = context.WithCancel(context.WithoutCancel(ctx))
	o.running.Go(func() { o.forward(ctx) })
	if o.registry, err = coord.Dial(coord.Options{Addrs: []string{l.Addr().String()}}); err != nil {
		o.close()
		return nil, err
	}
	if err := o.read(ctx); err != nil {
		o.close()
		return nil, err
	}
	o.running.Go(func() {
		o.registry.Watch(ctx, groupmap.Key, func() { _ = o.read(ctx) }) // After a failure it wakes again.
	})
	return o, nil
}

func (o *operator) close() {
	o.stop()
	_ = o.listener.Close()
	if o.registry != nil {
		_ = o.registry.Close()
	}
	o.running.Wait()
}

// forward passes connections on.
func (o *operator) forward(ctx context.Context) {
	for {
		here, err := o.listener.Accept()
		if err != nil {
			return
		}
		o.running.Go(func() {
			defer here.Close()
			dialing, cancel := context.WithTimeout(ctx, registryTime)
			there, err := o.r.net.Dial(dialing, portCoordinator, o.r.c.coordinatorAddr())
			cancel()
			if err != nil {
				return
			}
			defer there.Close()
			defer context.AfterFunc(ctx, func() { here.Close(); there.Close() })()
			var back sync.WaitGroup
			back.Go(func() {
				_, _ = io.Copy(here, there)
				here.Close()
			})
			_, _ = io.Copy(there, here)
			there.Close()
			back.Wait()
		})
	}
}

// registryTime bounds a request to the coordinator.
const registryTime = 2 * time.Second

// read takes the present map.
func (o *operator) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, registryTime)
	defer cancel()
	m, err := groupmap.Read(ctx, o.registry)
	if err == nil && m == nil {
		err = errors.New("rounds: there is no map")
	}
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.is != nil && m.Version <= o.is.Version {
		return nil
	}
	if o.is != nil {
		for s := range m.Slots {
			if m.Slots[s] != o.is.Slots[s] {
				o.moved++
			}
		}
		for _, v := range m.Moves {
			if !slices.ContainsFunc(o.is.Moves, func(w placement.Move) bool { return w.Part == v.Part }) {
				o.begun++
			}
		}
	}
	o.is = m
	o.r.log("map %d: %s", m.Version, stepsOf(m))
	close(o.changed)
	o.changed = make(chan struct{})
	return nil
}

// stepsOf says how many moves are at each step.
func stepsOf(m *placement.Map) string {
	var at [placement.Drop + 1]int
	for _, v := range m.Moves {
		at[v.Step]++
	}
	var all []string
	for s, n := range at {
		if n > 0 {
			all = append(all, fmt.Sprintf("%d at %v", n, placement.Step(s)))
		}
	}
	if len(all) == 0 {
		return "no moves"
	}
	return strings.Join(all, ", ")
}

func (o *operator) now() *placement.Map {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.is
}

// await waits for a map.
func (o *operator) await(ctx context.Context, is func(*placement.Map) bool) error {
	for {
		o.mu.Lock()
		m, changed := o.is, o.changed
		o.mu.Unlock()
		if is(m) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("rounds: map %d has %s: %w", m.Version, stepsOf(m), context.Cause(ctx))
		}
	}
}

// errNothing: the map is as it should be.
var errNothing = errors.New("rounds: nothing to change")

// change writes a next map, until one is written or f returns an error.
func (o *operator) change(ctx context.Context, f func(*placement.Map) (*placement.Map, error)) error {
	for {
		err := o.try(ctx, f)
		if err == nil || errors.Is(err, errNothing) {
			err = o.read(ctx) // What is awaited next is judged by this map, or a later one.
		}
		if err == nil || !errors.Is(err, coord.ErrConflict) && !errors.Is(err, coord.ErrAway) && !errors.Is(err, coord.ErrUnknown) {
			return err
		}
		if pause(ctx); ctx.Err() != nil {
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

func (o *operator) try(ctx context.Context, f func(*placement.Map) (*placement.Map, error)) error {
	ctx, cancel := context.WithTimeout(ctx, registryTime)
	defer cancel()
	v, err := o.registry.Get(ctx, groupmap.Key)
	if err != nil {
		return err
	}
	m, err := placement.Decode(v.Bytes)
	if err == nil {
		m, err = f(m)
	}
	if err != nil {
		return err
	}
	b, err := m.Encode()
	if err == nil {
		_, err = o.registry.Swap(ctx, groupmap.Key, v.Version, b)
	}
	return err
}

// begin begins moves of slots that a group has, and which do not move.
func (o *operator) begin(ctx context.Context, from, to int, slots []uint16) error {
	return o.change(ctx, func(m *placement.Map) (*placement.Map, error) {
		var moves []placement.Move
		for _, s := range slots {
			moving := slices.ContainsFunc(m.Moves, func(v placement.Move) bool { return v.Slot == s })
			if int(m.Slots[s]) == from && !moving {
				moves = append(moves, placement.Move{Part: placement.Part{Slot: s}, From: placement.Index(from), To: placement.Index(to)})
			}
		}
		if len(moves) == 0 {
			return nil, errNothing
		}
		return m.Begin(moves...)
	})
}

// undo undoes the moves that can be undone.
func (o *operator) undo(ctx context.Context) error {
	return o.change(ctx, func(m *placement.Map) (next *placement.Map, err error) {
		next = m
		for _, v := range m.Moves {
			if v.Step.Undoable() && err == nil {
				next, err = next.Undo(v.Part)
			}
		}
		if next == m {
			return nil, errNothing
		}
		return next, err
	})
}
