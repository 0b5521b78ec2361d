//go:build linux

// Command servers measures Catfish over shared memory and other servers that
// answer "what is in this rectangle": Redis, PostGIS and Tile38, as far as
// their programs are found. It prints a table in Markdown.
//
//	make build && cd bench/peers
//	go run ./cmd/servers           2,000,000 objects, five rounds: minutes
//	go run ./cmd/servers -quick    20,000 objects, one round: seconds
//
// All servers are started and loaded first, each pinned to -server-core; this
// process, pinned to -client-core, is the client of all. A round measures all
// servers, and every other round runs backwards. Clients are closed loops with
// a connection each.
//
// The objects are uniform rectangles in the unit square, as degrees where a
// server needs them; Redis, which has only points, holds their centers.
// Queries are squares of a size at which the expected number of results is the
// same for all; the table has the mean found.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/rstar"
)

// bench is one run of the program.
type bench struct {
	objects, rounds  int
	duration, warmup time.Duration
	server, client   int // cores
	catfish          string
	rects            []rstar.Rect // object i has id i
	edge             float64      // mean of the rectangles'
}

// seed of data and queries.
const seed = 1

// shapes are the columns of the table, the measurements of one server.
var shapes = []struct{ results, clients int }{{1, 1}, {1, 8}, {100, 1}, {100, 8}}

type cell struct{ rates, found []float64 }

func main() {
	var b bench
	flag.IntVar(&b.objects, "objects", 2_000_000, "objects in each server")
	flag.IntVar(&b.rounds, "rounds", 5, "rounds, of which the table has medians")
	flag.DurationVar(&b.duration, "duration", 3*time.Second, "of a measurement")
	flag.DurationVar(&b.warmup, "warmup", 500*time.Millisecond, "before each measurement")
	flag.IntVar(&b.server, "server-core", 0, "core of the servers")
	flag.IntVar(&b.client, "client-core", 1, "core of the clients")
	flag.StringVar(&b.catfish, "catfish", "../../bin/catfish", "Catfish's `program`")
	only := flag.String("only", "", "some of "+strings.Join(names(), ",")+"; empty: all that are there")
	quick := flag.Bool("quick", false, "a small run, to see that it works: its figures mean nothing")
	pinned := flag.Bool("pinned", false, "(internal) this process has its core")
	flag.Parse()
	if *quick {
		b.objects, b.rounds, b.duration, b.warmup = 20_000, 1, 500*time.Millisecond, 100*time.Millisecond
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := errors.New("want two cores, 1000 objects or more, a round and some duration")
	if runtime.NumCPU() >= 2 && b.objects >= 1000 && b.rounds > 0 && b.duration > 0 || *pinned {
		if *pinned {
			err = b.run(ctx, *only, *quick)
		} else {
			err = pin(b.client)
		}
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
		os.Exit(1)
	}
}

// pin runs this program again, on a core of its own.
func pin(core int) error {
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		return fmt.Errorf("%w (apt-get install util-linux)", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := append([]string{"taskset", "-c", fmt.Sprint(core), self}, os.Args[1:]...)
	return syscall.Exec(taskset, append(args, "-pinned"), os.Environ())
}

func (b *bench) run(ctx context.Context, only string, quick bool) error {
	debug.SetGCPercent(400) // the objects stay live: rare collections suffice
	all, err := find(only, b.catfish)
	if err != nil {
		return err
	}
	next := datasets.UniformRects(seed, 0)
	for range b.objects {
		r := next()
		b.rects = append(b.rects, r)
		b.edge += (r.MaxX - r.MinX) / float64(b.objects)
	}
	cells := make(map[*server][]cell)
	for _, s := range all {
		fmt.Fprintln(os.Stderr, "starting and loading", s.name)
		err := s.start(ctx, b, s)
		defer s.stop()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		cells[s] = make([]cell, len(shapes))
	}
	for round := range b.rounds {
		order := slices.Clone(all)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, s := range order {
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, b.rounds, s.name)
			for i, shape := range shapes {
				rate, found, err := b.measure(ctx, s, float64(shape.results), shape.clients)
				if err != nil {
					return fmt.Errorf("%s: %w", s.name, err)
				}
				c := &cells[s][i]
				c.rates, c.found = append(c.rates, rate), append(c.found, found)
			}
		}
	}
	if quick {
		fmt.Print("**A quick run: its figures mean nothing.**\n\n")
	}
	b.print(os.Stdout, all, cells)
	return nil
}

// measure runs clients in closed loops. It returns searches per second and
// the mean number of results.
func (b *bench) measure(ctx context.Context, s *server, results float64, clients int) (rate, found float64, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	calls, items := 0, 0
	for i := range clients {
		search, end, failed := s.connect(ctx, s)
		if failed != nil {
			return 0, 0, failed
		}
		qs := b.queries(results, s.points, uint64(i))
		wg.Go(func() {
			defer end()
			myCalls, myItems, took, failed := b.loop(ctx, search, qs)
			mu.Lock()
			defer mu.Unlock()
			calls, items = calls+myCalls, items+myItems
			rate += float64(myCalls) / took.Seconds()
			err = errors.Join(err, failed)
		})
	}
	wg.Wait()
	return rate, float64(items) / float64(calls), err
}

// loop is one client: a warm-up, then the measured time. It reads the clock at
// every eighth call, since that costs the fastest servers the most.
func (b *bench) loop(ctx context.Context, search searchFunc, qs []rstar.Rect) (calls, items int, took time.Duration, err error) {
	start, measured := time.Now(), false
	for n := 0; ; n++ {
		if n%8 == 0 {
			now := time.Now()
			if took = now.Sub(start); !measured && took >= b.warmup {
				start, measured, calls, items = now, true, 0, 0
			} else if measured && took >= b.duration || ctx.Err() != nil {
				return calls, items, took, ctx.Err()
			}
		}
		found, err := search(ctx, qs[n%len(qs)])
		if err != nil {
			return calls, items, took, err
		}
		calls, items = calls+1, items+found
	}
}

// queries draws squares that find results objects on average. Of n rectangles
// with edges of mean e a square of edge s meets n*(s+e)^2, of points n*s^2.
func (b *bench) queries(results float64, points bool, client uint64) []rstar.Rect {
	side := math.Sqrt(results / float64(b.objects))
	if !points {
		side -= b.edge
	}
	at := datasets.UniformRects(seed, 1<<32+client) // only the corners are used
	qs := make([]rstar.Rect, 1<<14)
	for i := range qs {
		c := at()
		x, y := c.MinX*(1-side), c.MinY*(1-side)
		qs[i] = rstar.Rect{MinX: x, MinY: y, MaxX: x + side, MaxY: y + side}
	}
	return qs
}

func (b *bench) print(w io.Writer, all []*server, cells map[*server][]cell) {
	fmt.Fprintf(w, "%s uniform objects, server on core %d, clients on core %d, %s. Searches/s:\n"+
		"medians of rounds (number of rounds: %d, %v each), in brackets the least and the most.\n\n| server |",
		thousands(float64(b.objects)), b.server, b.client, runtime.Version(), b.rounds, b.duration)
	for _, s := range shapes {
		fmt.Fprintf(w, " results: %d, clients: %d |", s.results, s.clients)
	}
	fmt.Fprintf(w, " results found |\n|%s\n", strings.Repeat("---|", len(shapes)+2))
	for _, s := range all {
		fmt.Fprintf(w, "| %s |", s.title)
		for _, c := range cells[s] {
			fmt.Fprintf(w, " %s (%s to %s) |", thousands(median(c.rates)), thousands(slices.Min(c.rates)), thousands(slices.Max(c.rates)))
		}
		fmt.Fprintf(w, " %.2f and %.1f |\n", median(cells[s][0].found), median(cells[s][len(shapes)-1].found))
	}
}

func median(vs []float64) float64 {
	s := slices.Sorted(slices.Values(vs))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// thousands is a whole number with commas.
func thousands(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
