package cli

import (
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/store/query"
)

// findFlags are those of a search of features.
type findFlags struct {
	areaFlags
	answerFlags
	order, cursor string
}

var orders = []string{"id", "any"}

func (f *findFlags) register(c *cobra.Command) {
	f.areaFlags.register(c)
	f.answerFlags.register(c)
	fs := c.Flags()
	fs.StringVar(&f.order, "order", "", "features: id or any; empty: by id with --limit or --cursor, else any")
	fs.StringVar(&f.cursor, "cursor", "", "features: go on behind this id: what an answer with --limit says comes next (or --after)")
	Complete(c, "order", orders...)
}

// used reports whether a flag was typed that only applies to features.
func (f *findFlags) used() bool {
	fs := f.areaFlags.flags
	return f.areaFlags.used() || fs.Changed("order") || fs.Changed("cursor") || fs.Changed("format") || fs.Changed("fields") || fs.Changed("no-geometry")
}

// noUse refuses the flags if the collection is of another kind.
func (f *areaFlags) noUse(collection, kind string, more ...string) error {
	return NoUse(f.flags, inKind(collection, kind), append(append([]string(nil), areaFlagNames...), more...)...)
}

// inKind says where a flag does nothing. A user who names no collection may not know that
// there is one.
func inKind(collection, kind string) string {
	return fmt.Sprintf("in a collection of %s, as %q is: --collection NAME names another", kind, collection)
}

var findFlagNames = append([]string{"order", "cursor"}, answerFlagNames...)

func (f *findFlags) query(limit int) (catfish.FeatureQuery, error) {
	q, err := f.areaFlags.query()
	if err != nil {
		return q, err
	}
	q.Limit, q.After, q.Fields = limit, f.cursor, f.selection()
	switch f.order {
	case "":
		if limit > 0 || f.cursor != "" {
			q.Order = query.ByID
		}
	case "id":
		q.Order = query.ByID
	case "any":
		if f.cursor != "" {
			return q, BadUsage("--cursor goes with --order id")
		}
	default:
		return q, BadUsage("--order is %q, want id or any", f.order)
	}
	return q, nil
}

// openFeatures returns the collection, or its kind if that is not features.
func (f *clientFlags) openFeatures(ctx context.Context, cl *catfish.Client) (_ *catfish.Features, kind string, err error) {
	if kind, err = kindOf(ctx, cl); err != nil || kind != catfish.KindFeatures {
		return nil, kind, err
	}
	fs, err := cl.Features(f.collection)
	return fs, kind, err
}

// searchFeatures prints the results of a query, as they arrive.
func (a *App) searchFeatures(ctx context.Context, cl *catfish.Client, fs *catfish.Features, f clientFlags, ff *findFlags, limit int) error {
	q, err := ff.query(limit)
	if err != nil {
		return err
	}
	if err := ff.check(f.json); err != nil {
		return err
	}
	a.tellUnknown(ctx, fs, f.collection, q.Filter)
	p := &printer{f: &ff.answerFlags, a: a, asJSON: f.json}
	next, last := "", ""
	if limit > 0 && limit < math.MaxInt {
		q.Limit++ // One more result says whether there are more.
	}
	for x, err := range fs.Search(ctx, q) {
		if err != nil {
			return err
		}
		if limit > 0 && p.n == limit {
			next = last
			break
		}
		if err := p.print(x); err != nil {
			return err
		}
		last = x.ID
	}
	if q.Order != query.ByID {
		next = ""
	}
	return p.end(next, cl.Info())
}

// explainFeatures prints how a search went.
func (a *App) explainFeatures(ctx context.Context, fs *catfish.Features, f clientFlags, ff *findFlags, limit, repeat int) error {
	q, err := ff.query(limit)
	if err != nil {
		return err
	}
	a.tellUnknown(ctx, fs, f.collection, q.Filter)
	all := make([]*catfish.Explanation, repeat)
	for i := range all {
		if _, all[i], err = fs.Explain(ctx, q); err != nil {
			return err
		}
	}
	return a.explained(f, all)
}

func (a *App) nearestFeatures(ctx context.Context, cl *catfish.Client, fs *catfish.Features, f clientFlags, af *answerFlags, q catfish.NearestQuery) error {
	if err := af.check(f.json); err != nil {
		return err
	}
	info, err := fs.Describe(ctx)
	if err != nil {
		return err
	}
	a.tellUnknown(ctx, fs, f.collection, q.Filter)
	q.Fields = af.selection()
	p := &printer{f: af, a: a, asJSON: f.json, near: true, space: info.Space}
	for x, err := range fs.Nearest(ctx, q) {
		if err != nil {
			return err
		}
		if err := p.print(x); err != nil {
			return err
		}
	}
	return p.end("", cl.Info())
}
