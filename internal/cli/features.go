package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/places"
	"github.com/catfish-index/catfish/internal/store/query"
)

func newFeatures(a *App) *cobra.Command {
	c := &cobra.Command{
		Use:   "features",
		Short: "Read and change features by id: places with geometry and properties",
		Long: `Read and change features by id: places with a geometry and properties, in a
collection of features of the server. 'catfish serve --features NAME' has one from
its start, 'catfish collections create NAME --features' makes one, and so does
'catfish load FILE --collection NAME'. Others find them by area, distance and
properties: search, nearest, count, export.`,
		Example: `  catfish features put cafe.geojson -c cafes
  catfish features get cafe-7 -c cafes
  catfish features patch cafe-7 '{"open": false}' -c cafes
  catfish features delete cafe-7 -c cafes
  catfish features describe -c cafes
  catfish features swap cafes cafes-new`,
	}
	Group(c)
	c.AddCommand(newFeatureGet(a), newFeaturePut(a), newFeaturePatch(a), newFeatureDelete(a), newFeatureDescribe(a), newFeatureSwap(a))
	return c
}

// oneFlags are the flags of all commands about features by id.
type oneFlags struct{ clientFlags }

func (f *oneFlags) register(c *cobra.Command) {
	f.clientFlags.register(c)
	f.registerJSON(c)
	c.Flags().Lookup("collection").Usage = "collection of features on the server"
}

// dialFeatures connects; the caller closes the Client.
func (f *clientFlags) dialFeatures(ctx context.Context, a *App) (*catfish.Client, *catfish.Features, error) {
	cl, err := f.dial(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	fs, err := cl.Features(f.collection)
	if err != nil {
		cl.Close()
		return nil, nil, err
	}
	return cl, fs, nil
}

func newFeatureGet(a *App) *cobra.Command {
	var f oneFlags
	var fields fieldFlags
	c := &cobra.Command{
		Use:   "get ID...",
		Short: "Print the features of ids",
		Long: `Print the features of ids, as GeoJSON, a line each; with --json one object
with revisions and expiries, too. An id without a feature is an error, after all
others were printed.`,
		Example: `  catfish get cafe-7 -c cafes
  catfish get cafe-7 cafe-8 -c cafes --json --fields name,seats`,
		Args: Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error {
			cl, fs, err := f.dialFeatures(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer cl.Close()
			return a.featureGet(cmd.Context(), fs, f.collection, f.json, fields, ids)
		},
	}
	f.register(c)
	f.registerSearch(c)
	fields.register(c)
	return c
}

func (a *App) featureGet(ctx context.Context, fs *catfish.Features, collection string, asJSON bool, fields fieldFlags, ids []string) error {
	found, err := fs.GetFields(ctx, ids, fields.selection())
	if err != nil {
		return err
	}
	var missing error
	var absent []string
	out := make([]featureJSON, 0, len(found))
	for i, x := range found {
		if x.ID == "" {
			if missing == nil {
				missing = query.NoFeature(collection, ids[i])
			}
			if asJSON {
				absent = append(absent, ids[i])
			}
			continue
		}
		j, err := (&answerFlags{fieldFlags: fields}).json(x)
		if err != nil {
			return err
		}
		if out = append(out, j); !asJSON {
			if err := a.Printf("%s\n", j.Feature); err != nil {
				return err
			}
		}
	}
	if asJSON {
		if err := a.json(struct {
			Features []featureJSON `json:"features"`
			Missing  []string      `json:"missing,omitempty"`
		}{out, absent}); err != nil {
			return err
		}
	}
	return missing
}

// featureDone is the output of the commands that change features.
type featureDone struct {
	ID       string `json:"id"`
	Done     string `json:"done"`
	Revision uint64 `json:"revision,omitempty"`
}

// tellDone prints the changes.
func (a *App) tellDone(asJSON bool, done []featureDone) error {
	if asJSON {
		return a.json(struct {
			Features []featureDone `json:"features"`
		}{done})
	}
	var b bytes.Buffer
	for _, d := range done {
		fmt.Fprintf(&b, "%s %s, revision %d\n", d.Done, plain([]byte(d.ID)), d.Revision)
	}
	return a.Printf("%s", b.String())
}

type putFlags struct {
	oneFlags
	placeFlags
	sourceFlags
	file     string
	ttl      time.Duration
	cond     catfish.Condition
	noCreate bool
}

func newFeaturePut(a *App) *cobra.Command {
	var f putFlags
	c := &cobra.Command{
		Use:   "put [FILE]",
		Short: "Store features, in place of those with their ids",
		Long: `Store features, each in place of the one of its id, if there is one. FILE is
GeoJSON: a Feature, a FeatureCollection, or a text a line, from standard input if
there is no FILE or it is -. All are read before the first is stored, and a bad one
is an error; for many features there is 'catfish load'. A feature without an id
gets one, which is printed with its revision. The collection is made if it is not
there.`,
		Example: `  catfish put cafe.geojson -c cafes
  echo '{"type":"Feature","id":"7","geometry":{"type":"Point","coordinates":[1.5,42.5]},"properties":{"name":"Sol"}}' | catfish put -c cafes
  catfish put bus.geojson -c fleet --ttl 1m --if-revision 12`,
		Args: Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, files []string) error {
			path := f.file
			switch {
			case len(files) == 1 && path != "":
				return BadUsage("FILE and --file, want one of them")
			case len(files) == 1:
				path = files[0]
			case path == "":
				path = places.Stdin
			}
			if f.ttl < 0 {
				return BadUsage("--ttl is %v, want 0 (for good) or more", f.ttl)
			}
			return a.featurePut(cmd.Context(), &f, path)
		},
	}
	f.oneFlags.register(c)
	fs := c.Flags()
	fs.StringVarP(&f.file, "file", "f", "", "GeoJSON file, - for standard input")
	fs.DurationVar(&f.ttl, "ttl", 0, "after which the features are gone, counted by this machine's clock, and ended by the server's; 0: never")
	fs.BoolVar(&f.cond.IfAbsent, "if-absent", false, "only if the id has no feature")
	fs.Uint64Var(&f.cond.IfRevision, "if-revision", 0, "only if the feature of the id, of a single one, has this revision; 0: any")
	fs.BoolVar(&f.noCreate, "no-create", false, "fail if the collection is not there")
	return c
}

func (a *App) featurePut(ctx context.Context, f *putFlags, path string) error {
	cl, end, err := f.dialAny(ctx, a)
	if err != nil {
		return err
	}
	defer end()
	fs, err := cl.Features(f.collection)
	if err != nil {
		return err
	}
	var info catfish.FeaturesInfo
	err = whileStarting(ctx, startPatience, func() error {
		info, err = fs.Describe(ctx)
		return err
	})
	// A new collection is of longitude and latitude, which is info's zero value. It has
	// no revision for a condition to name.
	create := errors.Is(err, catfish.ErrUnknownCollection) && !f.noCreate && f.cond.IfRevision == 0
	if err != nil && !create {
		return err
	}
	l := &featureLoader{a: a, name: f.collection, space: info.Space}
	f.strict, f.memory = true, 1 // GeoJSON does not need it
	r, err := f.placeFlags.open(l, path, &f.sourceFlags)
	if err != nil {
		return err
	}
	defer r.Close()
	var all []catfish.Feature
	for p, err := range r.All() {
		if err != nil {
			return convertible(err, path, f.collection)
		}
		x := catfish.Feature{ID: p.ID, Geometry: p.Geometry, Altitudes: p.Altitudes, Properties: p.Properties}
		if f.ttl > 0 {
			x.Expires = time.Now().Add(f.ttl)
		}
		all = append(all, x)
	}
	if len(all) == 0 {
		return fmt.Errorf("%s has no feature", r.Name())
	}
	if f.cond.IfRevision != 0 && len(all) > 1 {
		return BadUsage("--if-revision with %d features, want one", len(all))
	}
	if create { // The file is known to be complete.
		if err := cl.CreateFeatures(ctx, f.collection, catfish.FeaturesOptions{}); err != nil {
			return err
		}
	}
	done := make([]featureDone, 0, len(all))
	failed := putAll(ctx, fs, all, f.cond, func(x catfish.PutResult) {
		done = append(done, featureDone{x.ID, "put", x.Revision})
	})
	if len(done) > 0 || failed == nil {
		if err := a.tellDone(f.json, done); err != nil {
			return err
		}
	}
	return failed
}

// putAll stores features. It returns the first error, with the number stored.
func putAll(ctx context.Context, fs *catfish.Features, all []catfish.Feature, cond catfish.Condition, stored func(catfish.PutResult)) error {
	if cond != (catfish.Condition{}) {
		for i, x := range all {
			id, revision, err := fs.Put(ctx, x, cond)
			if err != nil {
				return partly(i, len(all), ofFeature(x.ID, err))
			}
			stored(catfish.PutResult{ID: id, Revision: revision})
		}
		return nil
	}
	results, err := fs.PutMany(ctx, all)
	n := 0
	for i, r := range results {
		if r.Err == nil && r.Revision != 0 {
			stored(r)
			n++
		} else if r.Err != nil && err == nil {
			err = fmt.Errorf("%q: %w", all[i].ID, r.Err)
		}
	}
	if err != nil {
		return partly(n, len(all), err)
	}
	return nil
}

func partly(n, of int, err error) error {
	if n == 0 {
		return err
	}
	return partialError{fmt.Errorf("%w\n%d of %d features were stored", err, n, of)}
}

func newFeaturePatch(a *App) *cobra.Command {
	var f oneFlags
	var cond catfish.Condition
	c := &cobra.Command{
		Use:   "patch ID JSON",
		Short: "Change properties of a feature",
		Long: `Change properties of a feature by a JSON merge patch (RFC 7396): members that
are given are set, null removes one, others stay. A JSON of - is standard input.`,
		Example: `  catfish features patch cafe-7 '{"open": false, "note": null}' -c cafes
  catfish features patch cafe-7 - --if-revision 12 -c cafes < change.json`,
		Args: Args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, given []string) error {
			patch := []byte(given[1])
			if given[1] == "-" {
				var err error
				if patch, err = io.ReadAll(a.In); err != nil {
					return err
				}
			}
			if t := bytes.TrimSpace(patch); !json.Valid(t) || t[0] != '{' {
				return BadUsage("the patch is %.40q, want a JSON object", patch)
			}
			cl, fs, err := f.dialFeatures(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer cl.Close()
			revision, err := fs.Patch(cmd.Context(), given[0], patch, cond)
			if err != nil {
				return ofFeature(given[0], err)
			}
			return a.tellDone(f.json, []featureDone{{given[0], "patched", revision}})
		},
	}
	f.register(c)
	c.Flags().Uint64Var(&cond.IfRevision, "if-revision", 0, "only if the feature has this revision; 0: any")
	return c
}

func newFeatureDelete(a *App) *cobra.Command {
	var f oneFlags
	var area areaFlags
	var cond catfish.Condition
	c := &cobra.Command{
		Use:   "delete ID... | delete --filter EXPRESSION",
		Short: "Remove features, by ids or by area and filter",
		Example: `  catfish features delete cafe-7 -c cafes --if-revision 12
  catfish features delete -c fleet --filter 'properties.line == 3'`,
		Args: Args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, ids []string) error {
			where := area.used() || cmd.Flags().Changed("bbox")
			if where == (len(ids) > 0) {
				return BadUsage("want ids, or an area or --filter: one of the two")
			}
			if cond.IfRevision != 0 && len(ids) != 1 {
				return BadUsage("--if-revision is for one id")
			}
			q, err := area.query()
			if err != nil {
				return err
			}
			cl, fs, err := f.dialFeatures(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer cl.Close()
			if !where {
				return a.featureDelete(cmd.Context(), fs, f.json, ids, cond)
			}
			a.tellUnknown(cmd.Context(), fs, f.collection, q.Filter)
			n, err := fs.DeleteWhere(cmd.Context(), q)
			if err != nil {
				return err
			}
			if f.json {
				return a.json(struct {
					Deleted int `json:"deleted"`
				}{n})
			}
			return a.Printf("deleted %d features\n", n)
		},
	}
	f.register(c)
	area.register(c)
	c.Flags().StringVar(&area.bbox, "bbox", "", "west,south,east,north of what to delete")
	c.Flags().Uint64Var(&cond.IfRevision, "if-revision", 0, "only if the feature has this revision; 0: any")
	return c
}

// featureDelete removes ids, and tries each of them. It returns the first error.
func (a *App) featureDelete(ctx context.Context, fs *catfish.Features, asJSON bool, ids []string, cond catfish.Condition) error {
	var first error
	var done []featureDone
	for _, id := range ids {
		revision, err := fs.Delete(ctx, id, cond)
		switch {
		case err == nil:
			done = append(done, featureDone{id, "deleted", revision})
		case first == nil:
			first = ofFeature(id, err)
		}
		if err != nil && !errors.Is(err, catfish.ErrNotFound) {
			break // The next id would fail, too.
		}
	}
	if len(done) > 0 {
		if err := a.tellDone(asJSON, done); err != nil {
			return err
		}
		if first != nil {
			first = partialError{first}
		}
	}
	return first
}

// ofFeature returns an error that names the id of its feature.
func ofFeature(id string, err error) error {
	for _, named := range []error{catfish.ErrNotFound, catfish.ErrExists, catfish.ErrConflict} {
		if errors.Is(err, named) {
			return err
		}
	}
	return fmt.Errorf("%q: %w", id, err)
}
