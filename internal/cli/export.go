package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/places"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

func newExport(a *App) *cobra.Command {
	var f clientFlags
	var area areaFlags
	var answer answerFlags
	var out, geometry string
	c := &cobra.Command{
		Use:   "export",
		Short: "Write the features of a collection to a file",
		Long: `Write the features of a collection, or those of an area and a filter, as
GeoJSON, a feature a line, or CSV, in the order of their ids. Features that are
there during all of it come exactly once, whatever others write meanwhile. A file is
replaced when it is complete. Its name says the format, unless --format does: .csv,
.geojsonl (also .geojsonseq, .ndjson and such), all else is GeoJSON; .gz and .zst
behind it pack it.

The first 1,000 features and the collection's types of geometry decide whether a CSV
has columns lon and lat or well-known text. A later altitude is not foreseen: then ask
for --geometry wkt.`,
		Example: `  catfish export -c cafes --out cafes.geojson
  catfish export -c cafes --out cafes.csv.gz --fields name,seats
  catfish export -c cafes --format csv > cafes.csv
  catfish export -c cafes --format geojsonseq --filter 'properties.open' | gzip > open.geojsonl.gz`,
		Args: Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if answer.format == "table" {
				return BadUsage("--format is table, want geojson, geojsonseq or csv")
			}
			if !cmd.Flags().Changed("format") && out != "-" {
				format, err := places.FormatOf(out)
				if err != nil {
					return BadUsage("--out: %w, or --format", err)
				}
				answer.format = string(format)
			}
			if err := answer.check(false); err != nil {
				return err
			}
			if !slices.Contains(geometries, geometry) {
				return BadUsage("--geometry is %q, want %s", geometry, strings.Join(geometries, ", "))
			}
			if geometry != geometryAuto && answer.format != string(places.CSV) {
				return BadUsage("--geometry is of csv, and the format is %s", answer.format)
			}
			q, err := area.query()
			if err != nil {
				return err
			}
			q.Order, q.Fields = query.ByID, answer.selection()
			cl, fs, err := f.dialFeatures(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer cl.Close()
			info, err := fs.Describe(cmd.Context()) // before the first byte is written
			if err != nil {
				return err
			}
			a.tellUnknown(cmd.Context(), fs, f.collection, q.Filter)
			e := &exporter{a: a, answer: &answer, geometry: geometry, total: info.Features, later: laterOf(&info, &answer)}
			if q.Area != nil || q.Filter != "" {
				e.total = 0
			}
			return e.export(cmd.Context(), fs.Search(cmd.Context(), q), out)
		},
	}
	f.register(c)
	f.registerSearch(c)
	area.register(c)
	answer.register(c)
	fs := c.Flags()
	format := fs.Lookup("format")
	format.DefValue, format.Usage, answer.format = "", "format to write: geojson, geojsonseq or csv; empty: by the name of --out", "geojson"
	fs.StringVar(&area.bbox, "bbox", "", "west,south,east,north of what to write; empty: everything")
	fs.StringVar(&geometry, "geometry", geometryAuto, "columns of a CSV: wkt, which any geometry has room in;\nxy: lon and lat without altitudes, of points alone; auto: by the first features")
	Complete(c, "geometry", geometries...)
	fs.StringVarP(&out, "out", "o", "-", "file to write, - for standard output; .gz or .zst packs it")
	return c
}

// Columns of geometries in CSV.
const (
	geometryAuto = "auto"
	geometryWKT  = "wkt"
	geometryXY   = "xy"
)

var geometries = []string{geometryAuto, geometryWKT, geometryXY}

// exporter writes features, with progress.
type exporter struct {
	a           *App
	answer      *answerFlags
	geometry    string
	total       int // 0: unknown
	later       places.Later
	n           int
	began, next time.Time
}

// export writes to a new file beside out and renames it when it is complete, so
// that a failure leaves the old file unchanged.
func (e *exporter) export(ctx context.Context, all iter.Seq2[catfish.Feature, error], out string) error {
	e.began = time.Now()
	e.next = e.began.Add(progressEvery)
	if out == "-" {
		if err := e.write(untilDone{ctx, e.a.Out}, all); err != nil {
			return err
		}
		e.tell("wrote", "standard output")
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(out), filepath.Base(out)+".*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", out, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // Fails after the rename, which is fine.
	defer f.Close()
	packed, err := places.Pack(out, untilDone{ctx, f})
	if err != nil {
		return fmt.Errorf("writing %s: %w", out, err)
	}
	if err := errors.Join(e.write(packed, all), packed.Close()); err != nil {
		return err
	}
	// CreateTemp's 0600 is meant for secrets.
	if err := errors.Join(f.Chmod(0o644), f.Sync(), f.Close(), os.Rename(f.Name(), out)); err != nil {
		return fmt.Errorf("writing %s: %w", out, err)
	}
	e.tell("wrote", out)
	return nil
}

func (e *exporter) write(w io.Writer, all iter.Seq2[catfish.Feature, error]) error {
	_, err := places.Write(w, places.Format(e.answer.format), func(yield func(places.Place, error) bool) {
		for x, err := range all {
			if err != nil {
				yield(places.Place{}, err)
				return
			}
			p, err := e.answer.place(x)
			if !yield(p, err) || err != nil {
				return
			}
			e.one()
		}
	}, places.WriteOptions{
		Columns: e.answer.fields, Later: e.later, WKT: e.geometry == geometryWKT, LonLat: e.geometry == geometryXY,
	})
	return err
}

// laterOf returns the columns and shapes that a description knows, so that a table has
// room for features that come late.
func laterOf(d *store.Description, answer *answerFlags) (l places.Later) {
	for _, p := range d.Properties {
		l.Columns = append(l.Columns, p.Name)
	}
	for _, g := range d.Geometries {
		l.Shapes = l.Shapes || !answer.noGeometry && g.Type != feature.Point.String() && g.Type != feature.None.String()
	}
	return l
}

// one counts a feature, and shows the progress periodically.
func (e *exporter) one() {
	if e.n++; e.n%lookPlaces != 0 {
		return
	}
	if now := time.Now(); now.After(e.next) {
		e.next = now.Add(progressEvery)
		e.tell("writing", fmt.Sprintf("%d%%", 100*e.n/max(e.total, e.n)))
	}
}

func (e *exporter) tell(doing, to string) {
	if doing == "writing" && e.total == 0 {
		to = "the total is unknown"
	}
	fmt.Fprintf(e.a.Err, "%s %s, %s: %s\n", doing, doneText(int64(e.n), time.Since(e.began)), e.answer.format, to)
}
