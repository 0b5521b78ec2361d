package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
)

// The conversation
//
// A child's first line is its job. Each of its own lines has one key, which says what
// the line is:
//
//	parent                       server child              client child
//	Start, StartClients: job --> starts what is measured   connects
//	       <-------------------- ready                     ready
//	Clients.Go: go -------------------------------------> works
//	Ask: command --------------> answers
//	       <-------------------- answer
//	Await, Each <------------------------------------------ sample

// Say sends a line of a child.
func Say(p *child.Pipe, what string, v any) error { return p.Write(map[string]any{what: v}) }

// Await waits for the next line of a child, which must be of the wanted kind.
func Await[T any](ctx context.Context, c *child.Process, what string) (v T, err error) {
	said := map[string]json.RawMessage{}
	if err := c.Next(ctx, &said); err != nil {
		return v, err
	}
	line, ok := said[what]
	for _, key := range older[what] {
		if !ok {
			line, ok = said[key]
		}
	}
	if !ok {
		return v, fmt.Errorf("%w did not say %q, but %q", child.ErrFailed, what, slices.Sorted(maps.Keys(said)))
	}
	if err := json.Unmarshal(line, &v); err != nil {
		return v, fmt.Errorf("%w: %s: %w", child.ErrFailed, what, err)
	}
	return v, nil
}

// older are the keys of children of earlier builds, which 'bench policies' compares with
// this one.
var older = map[string][]string{"ready": {"server", "client"}, "answer": {"usage"}}

// Start starts a child, and waits until it is ready.
func Start[R any](ctx context.Context, spawn child.Spawn, role child.Role, cpus affinity.Set, job any,
	note func(string)) (*child.Process, R, error) {
	var ready R
	c, err := child.Start(spawn, role, cpus, job, note)
	if err != nil {
		return nil, ready, err
	}
	if ready, err = Await[R](ctx, c, "ready"); err != nil {
		c.Stop()
		return nil, ready, err
	}
	return c, ready, nil
}

// Ask sends a server child a command, and returns its answer.
func Ask[T any](ctx context.Context, c *child.Process, command any) (v T, err error) {
	if err := c.Send(command); err != nil {
		return v, err
	}
	return Await[T](ctx, c, "answer")
}

// Served is what a server child has started. C is a command of its parent.
type Served[C any] struct {
	Ready  any
	Answer func(ctx context.Context, command C) (any, error)
	Close  func()
}

// ServerMain runs a server child: in and out are its standard input and output. It
// returns when in ends, when ctx is done or an answer fails.
func ServerMain[J, C any](ctx context.Context, in io.Reader, out io.Writer,
	start func(ctx context.Context, job J, note func(string)) (Served[C], error)) error {
	p := child.NewPipe(in, out)
	var job J
	if err := p.Read(&job); err != nil {
		return p.Fail(err)
	}
	s, err := start(ctx, job, p.Note)
	if err != nil {
		return p.Fail(err)
	}
	defer s.Close()
	if err := Say(p, "ready", s.Ready); err != nil {
		return err
	}
	for ctx.Err() == nil {
		var command C
		if err := p.Read(&command); err != nil {
			return p.Fail(err)
		}
		answer, err := s.Answer(ctx, command)
		if err != nil {
			return p.Fail(err)
		}
		if err := Say(p, "answer", answer); err != nil {
			return err
		}
	}
	return nil
}

// Go is the line by which a parent lets a client child begin, or continue.
type Go struct {
	Go bool `json:"go"`
}

// Work is what a client child is ready to do.
type Work struct {
	Ready any
	// Run works after the first Go, and sends the samples. Each further Go is received
	// from again.
	Run func(ctx context.Context, p *child.Pipe, again <-chan struct{}) error
}

// ClientMain runs a client child: in and out are its standard input and output. prepare
// connects; what it gives to atEnd is called at the end, also after its errors, the last
// first. ClientMain returns after Run, when in ends or ctx is done.
func ClientMain[J any](ctx context.Context, in io.Reader, out io.Writer,
	prepare func(ctx context.Context, job J, note func(string), atEnd func(func())) (Work, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := child.NewPipe(in, out)
	var job J
	if err := p.Read(&job); err != nil {
		return p.Fail(err)
	}
	var ends []func()
	defer func() {
		for _, end := range slices.Backward(ends) {
			end()
		}
	}()
	w, err := prepare(ctx, job, p.Note, func(f func()) { ends = append(ends, f) })
	if err != nil {
		return p.Fail(err)
	}
	if err := Say(p, "ready", w.Ready); err != nil {
		return err
	}
	var line Go
	if err := p.Read(&line); err != nil || !line.Go {
		return p.Fail(err)
	}
	again := make(chan struct{})
	go func() { // The process ends with its input.
		defer cancel()
		for p.Read(&line) == nil {
			select {
			case again <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	err = w.Run(ctx, p, again)
	if ctx.Err() != nil {
		return nil // The parent has ended.
	}
	return p.Fail(err)
}

// Clients are client children.
type Clients []*child.Process

// StartClients starts n client children, and waits until all are ready.
func StartClients[R any](ctx context.Context, spawn child.Spawn, role child.Role, cpus affinity.Set, n int,
	job func(i int) any, note func(string)) (clients Clients, ready []R, err error) {
	defer func() {
		if err != nil {
			clients.Stop()
			clients = nil
		}
	}()
	for i := range n {
		c, err := child.Start(spawn, role, cpus, job(i), note)
		if err != nil {
			return clients, nil, err
		}
		clients = append(clients, c)
	}
	ready, err = Each[R](ctx, clients, "ready")
	return clients, ready, err
}

// Each is the next line of each client, which must be the wanted one.
func Each[T any](ctx context.Context, clients Clients, what string) (all []T, err error) {
	for _, c := range clients {
		v, err := Await[T](ctx, c, what)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// Go lets all begin.
func (c Clients) Go() error {
	for _, p := range c {
		if err := p.Send(Go{true}); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends all.
func (c Clients) Stop() {
	for _, p := range c {
		p.Stop()
	}
}
