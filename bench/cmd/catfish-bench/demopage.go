package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/cli"
)

// A demo with a page is one child, the server, whose own children are the clients:
//
//	this process            server child (demochild.go)       client children
//	  | start, demoJob -------> load, serve HTTP
//	  | <------------- address
//	  |                         engine.Room.Show ---------------> search
//	  | <----- begin, frames, end, over ------------------------- samples
//	  | end ------------------> exit                              exit
//
// So the engine room shows the show's clients, and its button starts more of them.

// demoPage says which page a demo has, and whether it stays.
type demoPage struct {
	HTTP, Places string
	Stay         bool
	fixed        bool // --http was given
}

func (p *demoPage) register(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&p.HTTP, "http", "localhost:8080", "host:port of the page; if the default one is taken, a free port; off: none")
	fs.StringVar(&p.Places, "places", "", "file of places on the page's map; empty: Andorra, from "+andorraFile+"\n"+
		"here or beside this program's directory; none: no places")
	fs.BoolVar(&p.Stay, "stay", false, "the page stays after the show until Ctrl-C, also without a terminal")
}

func (p *demoPage) check(fs *pflag.FlagSet) error {
	if p.HTTP == "off" {
		return cli.NoUse(fs, "with --http off", "places", "stay")
	}
	return cli.CheckAddr("http", p.HTTP, 0)
}

const andorraFile = "datasets/testdata/andorra.osm.pbf"

// places finds the file, empty if the page shows no places.
func (p *demoPage) places() (string, error) {
	switch p.Places {
	case "none":
		return "", nil
	case "":
	default:
		if _, err := os.Stat(p.Places); err != nil {
			return "", fmt.Errorf("--places: %w", err)
		}
		return filepath.Abs(p.Places)
	}
	roots := []string{"."}
	if exe, err := os.Executable(); err == nil {
		roots = append(roots, filepath.Join(filepath.Dir(exe), "..")) // bin/catfish of a clone
	}
	for _, root := range roots {
		path := filepath.Join(root, andorraFile)
		if _, err := os.Stat(path); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", nil
}

func inTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// demoWithPage runs the server child, and prints its output.
func (a *app) demoWithPage(ctx context.Context, cfg bench.DemoConfig, page demoPage, spawn child.Spawn, show bench.Show) error {
	places, err := page.places()
	if err != nil {
		return err
	}
	job := demoJob{Config: cfg.WithDefaults(), HTTP: page.HTTP, Fixed: page.fixed, Places: places}
	srv, err := child.Start(spawn, demoRole, cfg.ServerCPUs, job, show.Note)
	if err != nil {
		return err
	}
	defer srv.Stop()
	d := demoShow{a: a, show: show, places: places}
	err = d.follow(ctx, srv)
	if ctx.Err() != nil {
		// Ctrl-C is a normal end. The server child still sends the summary.
		if serr := srv.Send(demoCommand{End: true}); serr != nil {
			return serr
		}
		late, cancel := context.WithTimeout(context.Background(), child.ExitTime)
		defer cancel()
		if d.over {
			return nil
		}
		return d.follow(late, srv)
	}
	if err != nil || !page.Stay {
		return err
	}
	if err := a.Printf("\nThe page stays at %s until Ctrl-C.\n", d.url); err != nil {
		return err
	}
	var nothing demoSaid
	if err := srv.Next(ctx, &nothing); ctx.Err() == nil {
		return err // It sends no more, so it has failed.
	}
	return nil
}

// demoShow passes on the lines of the server child.
type demoShow struct {
	a           *app
	show        bench.Show
	url, places string
	over        bool
}

// follow returns when the show or ctx has ended.
func (d *demoShow) follow(ctx context.Context, srv *child.Process) error {
	for !d.over {
		var s demoSaid
		if err := srv.Next(ctx, &s); err != nil {
			return err
		}
		switch {
		case s.URL != "":
			d.url = s.URL
			text := fmt.Sprintf("page:      %s  (map of %d places, engine room)\n", s.URL, s.Places)
			if d.places == "" {
				text = fmt.Sprintf("page:      %s  (engine room; no places: --places FILE has some)\n", s.URL)
			}
			if err := d.a.Printf("%s", text); err != nil {
				return err
			}
		case s.Begin != nil:
			d.show.Begin(s.Begin.Server, s.Begin.Info, s.Begin.Config)
		case s.Frame != nil:
			d.show.Frame(*s.Frame)
		case s.End != nil:
			d.show.End(*s.End)
		case s.Over:
			d.over = true
		default:
			return errors.New("the demo's server said nothing")
		}
	}
	return nil
}
