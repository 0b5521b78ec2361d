package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/places"
	"github.com/catfish-index/catfish/internal/store/query"
)

type watchFlags struct {
	clientFlags
	areaFlags
	from          string
	history       uint64
	limit         int
	old, progress bool
}

func newWatch(a *App) *cobra.Command {
	var f watchFlags
	c := &cobra.Command{
		Use:   "watch",
		Short: "Print what happens to the features of an area",
		Long: `Print what happens to the features of an area, as it happens: one JSON object a
line for each that enters the area or its filter, leaves it, moves inside it or is
changed there. Without an area all of the collection is watched.

  kind      enter, exit, inside (its geometry changed), changed (the rest did),
            or with --progress: progress, for the first time when the watch stands
  why       of an exit: moved, filtered, deleted or expired
  revision  of the write
  resume    --from with which the events after this one come
  history   --history, with --from: it tells if the data is from a backup since
  position  of several groups, in place of resume and history: --from
  feature   after the write; missing if it is gone
  expires   when the feature will be gone, if it will
  old       the feature before the write, with --old

It ends after --limit events, or with status 0 by a signal. A connection that is lost
is made again, and a server that restarts is waited for. If the server no longer has
what comes next, that is an error: search again, and watch from then on.`,
		Example: `  catfish watch -c fleet --bbox 1.4,42.4,1.8,42.7
  catfish watch -c fleet --near 1.52,42.51 --radius 500 --filter 'properties.line == 3' --old
  catfish watch -c fleet --from 4711 --limit 100`,
		Args: Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.limit < 0 {
				return BadUsage("--limit is %d, want 0 (no limit) or more", f.limit)
			}
			q, err := f.query()
			if err != nil {
				return err
			}
			cl, fs, err := f.dialFeatures(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer cl.Close()
			a.tellUnknown(cmd.Context(), fs, f.collection, q.Filter)
			return a.watch(cmd.Context(), fs, &f, q)
		},
	}
	f.clientFlags.register(c)
	f.areaFlags.register(c)
	fs := c.Flags()
	fs.StringVar(&f.bbox, "bbox", "", "west,south,east,north of what to watch")
	fs.StringVar(&f.from, "from", "", "after which events are wanted: resume of the last one, or position from several groups; empty or 0: from now on")
	fs.Uint64Var(&f.history, "history", 0, "history of the line that --from is of, so that it is refused if the data is other since; 0: not known")
	fs.IntVar(&f.limit, "limit", 0, "end after so many events; 0: never")
	fs.BoolVar(&f.old, "old", false, "print features as they were before, too")
	fs.BoolVar(&f.progress, "progress", false, "print how far the watch is when nothing happens")
	return c
}

// eventJSON is a line of the output.
type eventJSON struct {
	Kind     string          `json:"kind"`
	ID       string          `json:"id,omitempty"`
	Revision uint64          `json:"revision"`
	Resume   uint64          `json:"resume,omitempty"`
	History  uint64          `json:"history,string,omitempty"` // of 64 bits: many readers have 53 for a number
	Position string          `json:"position,omitempty"`       // in place of both
	Why      string          `json:"why,omitempty"`
	Expires  *time.Time      `json:"expires,omitempty"`
	Feature  json.RawMessage `json:"feature,omitempty"`
	Old      json.RawMessage `json:"old,omitempty"`
}

func (a *App) watch(ctx context.Context, fs *catfish.Features, f *watchFlags, q catfish.FeatureQuery) error {
	n := 0
	w := catfish.WatchQuery{Query: q, History: f.history, Old: f.old, Progress: f.progress}
	var err error
	if w.From, err = strconv.ParseUint(f.from, 10, 64); err != nil && f.from != "" {
		w.Position = f.from
	}
	for e, err := range fs.Watch(ctx, w) {
		if err != nil {
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				return nil // a signal
			}
			return err
		}
		line := eventJSON{Kind: e.Kind.String(), ID: e.ID, Revision: e.Revision, Resume: e.Resume, History: e.History, Position: e.Position, Why: e.Why.String()}
		if line.Feature, err = featureText(&e.Feature); err != nil {
			return err
		}
		if !e.Feature.Expires.IsZero() {
			line.Expires = &e.Feature.Expires
		}
		if e.Old != nil {
			if line.Old, err = featureText(e.Old); err != nil {
				return err
			}
		}
		if err := a.json(line); err != nil {
			return err
		}
		if e.Kind == query.Progress {
			continue
		}
		if n++; n == f.limit {
			return nil
		}
	}
	return nil
}

// featureText is a feature as GeoJSON, nil if it was deleted.
func featureText(x *catfish.Feature) (json.RawMessage, error) {
	if x.Revision == 0 {
		return nil, nil
	}
	return places.AppendFeature(nil, places.Place{ID: x.ID, Geometry: x.Geometry, Altitudes: x.Altitudes, Properties: x.Properties})
}
