package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/engine"
	"github.com/catfish-index/catfish/internal/web"
)

// demoRole is the role of a demo's server.
const demoRole child.Role = "demo"

// demoPlaces is the collection that the page's map shows.
const demoPlaces = "places"

// demoJob is the first line that the server child reads.
type demoJob struct {
	Config bench.DemoConfig `json:"config"`
	HTTP   string           `json:"http"`
	Fixed  bool             `json:"fixed"` // do not fall back to another address
	Places string           `json:"places,omitempty"`
}

// demoCommand is one of the later lines.
type demoCommand struct {
	End bool `json:"end,omitempty"`
}

// demoSaid is a line from the server child: exactly one field is set, but for Places.
type demoSaid struct {
	URL    string         `json:"url,omitempty"` // of the page, which is being served
	Places int            `json:"places,omitempty"`
	Begin  *demoBegin     `json:"begin,omitempty"`
	Frame  *bench.Frame   `json:"frame,omitempty"`
	End    *bench.Summary `json:"end,omitempty"`
	Over   bool           `json:"over,omitempty"` // the show has ended; the page stays
}

type demoBegin struct {
	Server bench.ServerReady `json:"server"`
	Info   bench.Info        `json:"info"`
	Config bench.DemoConfig  `json:"config"`
}

// demoMain is the server child. It returns at the end of in, or reports an error.
func demoMain(ctx context.Context, in io.Reader, out io.Writer) error {
	p := child.NewPipe(in, out)
	var job demoJob
	if err := p.Read(&job); err != nil {
		return p.Fail(err)
	}
	return p.Fail(demoServer(ctx, p, job))
}

func demoServer(ctx context.Context, p *child.Pipe, job demoJob) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cfg := job.Config
	s, err := bench.StartCatfish(ctx, bench.ServerJob{
		Dataset: cfg.Dataset, Objects: cfg.Objects, Seed: cfg.Seed, Transport: cfg.Transport, Strategy: cfg.Strategy, Inserted: cfg.Inserted,
	}, p.Note)
	if err != nil {
		return err
	}
	defer s.Close()
	srv := s.(interface{ Catfish() *catfish.Server }).Catfish()
	said := demoSaid{}
	if job.Places != "" {
		p.Note("loading " + job.Places)
		if said.Places, err = cli.LoadPlaces(ctx, srv, demoPlaces, job.Places); err != nil {
			return fmt.Errorf("--places: %w", err)
		}
	}
	spawn, err := spawner("")
	if err != nil {
		return err
	}
	page, err := servePage(srv, job.HTTP, job.Fixed, spawn, cfg.ClientCPUs, cancel)
	if err != nil {
		return err
	}
	defer page.close()
	said.URL = "http://" + page.addr + "/"
	if err := p.Write(said); err != nil {
		return err
	}
	cfg.Each = true
	on := bench.ServerReady{
		Addr: s.Addr(), Objects: s.Len(), Bounds: s.Bounds(), NodeBytes: s.NodeBytes(), Transports: s.Transports(),
	}
	began := time.Now()
	usage := func(context.Context) (harness.Usage, error) { return harness.UsageSince(began) }
	over, err := page.room.Show(web.EngineLoad{
		Clients: cfg.Procs * cfg.Clients, Seconds: int(cfg.Duration.Seconds()), Collection: catfish.DefaultCollection, Policy: cfg.Policy,
	}, func(ctx context.Context, v engine.View) error {
		return bench.Drive(ctx, cfg, on, usage, spawn, &pipeShow{p, v})
	})
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { // It ends with this process.
		defer close(ended)
		var cmd demoCommand
		for p.Read(&cmd) == nil && !cmd.End {
		}
	}()
	select {
	case err = <-over:
	case <-ended:
		page.room.Stop()
		err = <-over
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	if err := p.Write(demoSaid{Over: true}); err != nil {
		return err
	}
	select {
	case <-ended:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// pipeShow passes a show on to the engine room, and to the parent. The goroutine that
// reads the parent's commands notices the parent's end.
type pipeShow struct {
	p    *child.Pipe
	view engine.View
}

func (s *pipeShow) Note(text string) { s.p.Note(text) }

func (s *pipeShow) Begin(on bench.ServerReady, i bench.Info, c bench.DemoConfig) {
	s.view.Begin(i.Transport, i.Policy)
	_ = s.p.Write(demoSaid{Begin: &demoBegin{on, i, c}})
}

func (s *pipeShow) Frame(f bench.Frame) {
	var samples []engine.Sample
	for _, c := range f.Each {
		n := c.Counters
		samples = append(samples, engine.Sample{
			Elapsed: c.Elapsed, Fast: n.Fast, Offload: n.Offloaded, FellBack: n.FellBack,
			Reads: n.Reads, Restarts: n.Restarts, Torn: n.TornReads, Latency: c.Latency,
		})
	}
	s.view.Frame(f.Pause, samples)
	f.Each, f.Latency = nil, nil
	_ = s.p.Write(demoSaid{Frame: &f})
}

func (s *pipeShow) End(sum bench.Summary) { _ = s.p.Write(demoSaid{End: &sum}) }
