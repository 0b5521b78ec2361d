//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/places"
)

// dataset is the data that peers load.
type dataset struct {
	places []places.Place
	file   string // of them
	tiles  bool   // asked for as tiles, not as items
}

// work is one kind of requests to the peers.
type work struct {
	name  string
	paths func(*peer) []string
	// check compares the answer to a request, and returns its number of features.
	check func(i int, body []byte) (features int, err error)
}

// Works, in the order in which they run.
const (
	items10  = "items-10"
	items100 = "items-100"
	tiles    = "tiles"
)

var allWorks = []string{items10, items100, tiles}

// A set of requests is too large for the server's processor caches and branch
// predictors to learn, and fits into wrk's.
const requestsOfWork = 4000

// checked is how many answers of each peer and work are compared.
const checked = 50

// runner is one run.
type runner struct {
	cfg     *config
	dir     string
	note    func(string)
	done    func(row)
	machine bench.Machine
}

// run measures all works, and calls done with each row.
func run(ctx context.Context, cfg *config, dir string, note func(string), done func(row)) error {
	r := &runner{cfg: cfg, dir: dir, note: note, done: done, machine: bench.ThisMachine()}
	if slices.Contains(cfg.works, items10) || slices.Contains(cfg.works, items100) {
		if err := r.items(ctx); err != nil {
			return err
		}
	}
	if slices.Contains(cfg.works, tiles) {
		return r.tiles(ctx)
	}
	return nil
}

func (r *runner) items(ctx context.Context) error {
	r.note(fmt.Sprintf("making %d points", r.cfg.features))
	d := &dataset{places: makePoints(r.cfg.features, r.cfg.seed)}
	g := newGrid(d.places)
	var works []work
	for _, w := range []struct {
		name               string
		least, most, limit int
	}{{items10, 5, 10, 10}, {items100, 50, 100, 100}} {
		if !slices.Contains(r.cfg.works, w.name) {
			continue
		}
		boxes, err := g.boxes(rand.New(rand.NewPCG(r.cfg.seed, uint64(w.most))), requestsOfWork, w.least, w.most)
		if err != nil {
			return err
		}
		works = append(works, work{
			name: w.name,
			paths: func(p *peer) (paths []string) {
				for _, b := range boxes {
					paths = append(paths, p.items(b, w.limit))
				}
				return paths
			},
			check: func(i int, body []byte) (int, error) {
				want := g.placesIn(boxes[i], w.most)
				return len(want), checkItems(body, want)
			},
		})
	}
	return r.measure(ctx, d, works)
}

// placesIn returns the places of a box that holds at most most.
func (g *grid) placesIn(b orb.Bound, most int) (all []places.Place) {
	for _, i := range g.in(b, most) {
		all = append(all, g.points[i])
	}
	return all
}

func (r *runner) tiles(ctx context.Context) error {
	all, err := readPlaces(r.cfg.tiles)
	if err != nil {
		return err
	}
	list := tilesOf(rand.New(rand.NewPCG(r.cfg.seed, 3)), all, requestsOfWork)
	return r.measure(ctx, &dataset{places: all, tiles: true}, []work{{
		name: tiles,
		paths: func(p *peer) (paths []string) {
			for _, t := range list {
				paths = append(paths, p.tile(t))
			}
			return paths
		},
		check: func(i int, body []byte) (int, error) { return checkTile(body, list[i], all) },
	}})
}

// measure starts the peers with a data set, and runs the works.
func (r *runner) measure(ctx context.Context, d *dataset, works []work) (err error) {
	d.file = filepath.Join(r.dir, "places.geojsonl")
	if err := writePlaces(d.file, d.places); err != nil {
		return err
	}
	var peers []*peer
	defer func() {
		for _, p := range peers {
			err = errors.Join(err, p.Close())
		}
	}()
	s := &setup{cfg: r.cfg, dir: r.dir, data: d, note: r.note}
	for _, name := range r.cfg.peers {
		r.note(fmt.Sprintf("%s loads %d places", name, len(d.places)))
		p, err := starters[name](ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		peers = append(peers, p)
	}
	for _, w := range works {
		if err := r.work(ctx, d, w, peers); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// starters start the peers, by name.
var starters = map[string]func(context.Context, *setup) (*peer, error){
	"catfish": startCatfish, "postgis": startPostGIS, "tile38": startTile38,
}

// work compares answers, then measures the peers in rounds.
func (r *runner) work(ctx context.Context, d *dataset, w work, peers []*peer) error {
	rows := make([]row, len(peers))
	paths := make([][]string, len(peers))
	for i, p := range peers {
		paths[i] = w.paths(p)
		rows[i] = r.rowOf(d, w, p)
		for at := range min(checked, len(paths[i])) {
			body, err := get(ctx, p.addr, paths[i][at])
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			n, err := w.check(at, body)
			if p.lax && errors.Is(err, errMalformed) {
				p.malformed++
			} else if err != nil {
				return fmt.Errorf("%s: %s: %w", p.name, paths[i][at], err)
			}
			rows[i].Features += float64(n) / float64(min(checked, len(paths[i])))
		}
		rows[i].Malformed = p.malformed
	}
	names, at := make([]string, len(peers)), map[string]int{}
	for i, p := range peers {
		names[i] = w.name + ", " + p.name
		at[names[i]] = i
	}
	return harness.Measure(r.cfg.rounds, names, r.note, func(name string) (sample, error) {
		s, err := r.measureOne(ctx, peers[at[name]], paths[at[name]])
		if err == nil {
			r.note(fmt.Sprintf("%s: %.0f requests/s", name, float64(s.Requests)/(s.DurationUs/1e6)))
		}
		return s, err
	}, func(name string, samples []sample) {
		row := &rows[at[name]]
		row.summarize(samples)
		r.done(*row)
	})
}

func (r *runner) measureOne(ctx context.Context, p *peer, paths []string) (sample, error) {
	if r.cfg.warmup > 0 {
		if _, err := load(ctx, r.cfg, r.dir, p.addr, paths, r.cfg.warmup); err != nil {
			return sample{}, err
		}
	}
	return load(ctx, r.cfg, r.dir, p.addr, paths, r.cfg.duration)
}

func (r *runner) rowOf(d *dataset, w work, p *peer) row {
	return row{
		Work: w.name, Peer: p.name, Version: strings.TrimSpace(p.version), Places: len(d.places),
		Connections: r.cfg.connections, Rounds: r.cfg.rounds, DurationS: r.cfg.duration.Seconds(), Seed: r.cfg.seed,
		ServerCPUs: r.cfg.serverCPUs, LoadCPUs: r.cfg.loadCPUs, Commit: r.cfg.commit, Machine: r.machine,
	}
}
