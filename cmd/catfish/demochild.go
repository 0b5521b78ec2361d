package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/web"
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
	seen, err := newObserved(ctx, srv, "", slog.New(slog.DiscardHandler), cancel)
	if err != nil {
		return err
	}
	defer seen.close()
	said := demoSaid{}
	if job.Places != "" {
		p.Note("loading " + job.Places)
		if said.Places, err = loadPlaces(ctx, srv, job.Places); err != nil {
			return err
		}
	}
	room, err := newRoom(srv, true, cfg.ClientCPUs, seen)
	if err != nil {
		return err
	}
	loaded := make(chan struct{})
	close(loaded)
	addr, stop, err := serveRoom(room, httpFlags{addr: job.HTTP}, callsPart, srv, guards{}, seen, loaded, cancel)
	if errors.Is(err, errHTTP) && !job.Fixed {
		host, _, _ := net.SplitHostPort(job.HTTP) // It was checked.
		if room, err = newRoom(srv, true, cfg.ClientCPUs, seen); err != nil {
			return err
		}
		addr, stop, err = serveRoom(room, httpFlags{addr: net.JoinHostPort(host, "0")}, callsPart, srv, guards{}, seen, loaded, cancel)
	}
	if err != nil {
		return err
	}
	defer stop()
	said.URL = "http://" + addr + "/"
	if err := p.Write(said); err != nil {
		return err
	}
	over, err := room.Show(web.EngineLoad{
		Clients: cfg.Procs * cfg.Clients, Seconds: int(cfg.Duration.Seconds()), Collection: catfish.DefaultCollection, Policy: cfg.Policy,
	}, cfg, bench.ServerReady{
		Addr: s.Addr(), Objects: s.Len(), Bounds: s.Bounds(), NodeBytes: s.NodeBytes(), Transports: s.Transports(),
	}, &pipeShow{p})
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
		room.Stop()
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

// loadPlaces fills a collection of places, and returns their number.
func loadPlaces(ctx context.Context, srv *catfish.Server, path string) (int, error) {
	c, err := srv.CreateFeatures(demoPlaces, catfish.FeaturesOptions{Title: "Places"})
	if err != nil {
		return 0, err
	}
	quiet := &app{out: io.Discard, err: io.Discard}
	l := &featureLoader{a: quiet, to: catfish.FeaturesOf(c), name: demoPlaces, space: c.Options().Space}
	err = c.Fill(func() error {
		return l.loadAll(ctx, new(placeFlags), &sourceFlags{memory: datasets.DefaultMemoryBytes}, []string{path})
	})
	if err != nil {
		return 0, fmt.Errorf("--places: %w", err)
	}
	return c.Len(), nil
}

// pipeShow passes a show on to the parent. The goroutine that reads the parent's
// commands notices the parent's end.
type pipeShow struct{ p *child.Pipe }

func (s *pipeShow) Note(text string) { s.p.Note(text) }

func (s *pipeShow) Begin(on bench.ServerReady, i bench.Info, c bench.DemoConfig) {
	_ = s.p.Write(demoSaid{Begin: &demoBegin{on, i, c}})
}

func (s *pipeShow) Frame(f bench.Frame) {
	f.Each, f.Latency = nil, nil // The engine room shows them.
	_ = s.p.Write(demoSaid{Frame: &f})
}

func (s *pipeShow) End(sum bench.Summary) { _ = s.p.Write(demoSaid{End: &sum}) }
