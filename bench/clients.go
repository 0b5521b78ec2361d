package bench

import (
	"context"
	"fmt"

	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
)

// The parent's view of client children.

// next returns a child's next line.
func next(ctx context.Context, c *child.Process) (fromChild, error) {
	var m fromChild
	err := c.Next(ctx, &m)
	return m, err
}

// startClients starts n client processes. The caller stops those that are
// returned, with an error too.
func startClients(spawn child.Spawn, cpus affinity.Set, n int, job func(i int) ClientJob,
	note func(string)) ([]*child.Process, error) {
	clients := make([]*child.Process, 0, n)
	for i := range n {
		c, err := child.Start(spawn, ClientRole, cpus, job(i), note)
		if err != nil {
			return clients, err
		}
		clients = append(clients, c)
	}
	return clients, nil
}

func stopAll(children []*child.Process) {
	for _, c := range children {
		c.Stop()
	}
}

// readyClients waits until all clients could start.
func readyClients(ctx context.Context, clients []*child.Process) ([]ClientReady, error) {
	var ready []ClientReady
	for _, c := range clients {
		m, err := next(ctx, c)
		if err != nil {
			return nil, err
		}
		if m.Client == nil {
			return nil, fmt.Errorf("%w (client) did not say that it is ready", child.ErrFailed)
		}
		ready = append(ready, *m.Client)
	}
	return ready, nil
}

// begin starts the clients' load.
func begin(clients []*child.Process) error {
	for _, c := range clients {
		if err := c.Send(toChild{Go: true}); err != nil {
			return err
		}
	}
	return nil
}

// samplesOf waits for a sample of each client.
func samplesOf(ctx context.Context, clients []*child.Process) ([]*Sample, error) {
	samples := make([]*Sample, len(clients))
	for i, c := range clients {
		m, err := next(ctx, c)
		if err != nil {
			return nil, err
		}
		if m.Sample == nil {
			return nil, fmt.Errorf("%w (client) sent no sample", child.ErrFailed)
		}
		samples[i] = m.Sample
	}
	return samples, nil
}
