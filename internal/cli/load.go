package cli

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/rstar"
)

const (
	// loadBatch is the number of objects that the library sends in one message.
	loadBatch = 256
	// loadInFlight batches hide the round trip. More would be useless: the server
	// has one writer per tree.
	loadInFlight = 4
)

func newLoad(a *App) *cobra.Command {
	var f clientFlags
	var sf sourceFlags
	var into intoFlags
	var files []string
	c := &cobra.Command{
		Use:   "load FILE...",
		Short: "Send the objects of files to a running server",
		Long: `Send the objects of files, or of generators, to a running server. What
was sent before an error or Ctrl-C stays there, and the message says how
much, "at least" so much if answers are missing.

A collection of boxes takes rectangles and numbers: CSV with the header
id,minx,miny,maxx,maxy or id,x,y, the boxes of GeoJSON and OpenStreetMap files,
rea02, road networks, generators. For a first bulk load 'catfish serve --load'
is faster and packs tighter. Without --collection they go to the collection default.
Ids and properties of places are left out, which is told on standard error.

A collection of features takes places with ids, geometries and properties, from
GeoJSON (also a feature a line), CSV with any columns, OpenStreetMap (PBF, XML)
and FlatGeobuf, also packed by gzip or zstd; - is standard input. It is made if
it is not there. A place without an id gets one: loaded again, it is another one.
A place whose id is there takes that one's place: load says how many did, and names
the first; with --unique it is an error. Bad records are left out, counted and shown;
if nothing else was there, load fails. Of a file in another format, or of another
coordinate reference system, load says by which line GDAL converts it.`,
		Example: `  catfish load cafes.geojson --collection cafes
  catfish load stops.csv.gz --collection stops --id stop_id --x lon --y lat
  catfish load shops.csv --collection shops --text postcode,phone
  catfish load andorra.osm.pbf --collection andorra
  catfish load --file roads.csv
  catfish load --file uniform --objects 100000 --seed 1`,
		Args: Args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, more []string) error {
			files := append(files, more...)
			if f.collection != catfish.DefaultCollection || into.features {
				return a.loadInto(cmd.Context(), f, &into, &sf, files)
			}
			if err := into.noUse("for the collection default, which is of boxes: want --collection NAME, too"); err != nil {
				return err
			}
			sources, err := sf.openFiles(files)
			if err != nil {
				return sf.notBoxes(err, files)
			}
			cl, err := f.dial(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer cl.Close()
			return a.loadBoxes(cmd.Context(), cl, f, &sf, files, sources)
		},
	}
	f.register(c)
	f.registerJSON(c)
	sf.register(c)
	into.register(c)
	c.Flags().StringArrayVarP(&files, "file", "f", nil,
		"file to load; repeat it, or list more files after it")
	CompleteData(c, "file")
	return c
}

// openFiles is openAll, but requires at least one file.
func (f *sourceFlags) openFiles(files []string) ([]*datasets.Source, error) {
	if len(files) == 0 {
		return nil, errNoFile
	}
	return f.openAll(files)
}

var errNoFile = BadUsage("FILE is missing, want a file or a generator")

// loadBoxes is load, but first reports what is left out of the files.
func (a *App) loadBoxes(ctx context.Context, cl *catfish.Client, f clientFlags, sf *sourceFlags, files []string, sources []*datasets.Source) error {
	a.tellLeftOut(sf, f.collection, files)
	return sf.notBoxes(a.load(ctx, cl, f, sources), files)
}

func (a *App) load(ctx context.Context, cl *catfish.Client, f clientFlags, sources []*datasets.Source) error {
	var sent sent
	for _, src := range sources {
		if err := a.send(ctx, cl, src, &sent); err != nil {
			return sent.stopped(err)
		}
	}
	if f.json {
		return a.json(struct {
			Loaded    int64  `json:"loaded"`
			Transport string `json:"transport"`
		}{sent.stored.Load(), cl.Info().Transport})
	}
	return a.Printf("loaded %d objects\n", sent.stored.Load())
}

// sent counts the objects that certainly arrived.
type sent struct {
	stored atomic.Int64
	unsure atomic.Bool // more may have arrived
}

// add counts the result of one InsertMany.
func (s *sent) add(n int, err error) {
	s.stored.Add(int64(n))
	switch {
	case err == nil, catfish.RetrySafe(err): // All or nothing of the rest.
	case errors.Is(err, rstar.ErrSlabFull), errors.Is(err, rstar.ErrBadRect),
		errors.Is(err, catfish.ErrUnknownCollection): // The server reported it.
	default:
		s.unsure.Store(true)
	}
}

// stopped reports what is on the server when a load ends with err.
func (s *sent) stopped(err error) error {
	unless, least := "", ""
	if errors.Is(err, catfish.ErrUnknownOutcome) || errors.Is(err, catfish.ErrNoServer) {
		unless = ", unless it has ended"
	}
	if s.unsure.Load() {
		least = "at least "
	}
	n := s.stored.Load()
	if n == 0 && least == "" {
		return err
	}
	return partialError{fmt.Errorf("%w\n%s%d objects were loaded before that and stay on the server%s",
		err, least, n, unless)}
}

// send sends one source in batches, several at a time, and counts the objects that
// certainly arrived. It sends the items before a broken one.
func (a *App) send(ctx context.Context, cl *catfish.Client, src *datasets.Source,
	sent *sent) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(loadInFlight)
	var batch []rstar.Item
	flush := func() {
		if len(batch) == 0 {
			return
		}
		out := batch
		batch = nil
		g.Go(func() error {
			n, err := cl.InsertMany(gctx, out)
			sent.add(n, err)
			return err
		})
	}
	failed := a.read(gctx, src, func(it rstar.Item) error {
		batch = append(batch, it)
		if len(batch) == loadBatch {
			flush()
		}
		return gctx.Err()
	})
	if gctx.Err() == nil {
		flush()
	}
	if err := g.Wait(); err != nil {
		return err // The cause; it made reading stop.
	}
	return failed
}
