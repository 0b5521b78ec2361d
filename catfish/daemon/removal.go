package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/catfish-index/catfish/internal/replica/node"
)

// errRemoved: the map had the group, and has it no more.
var errRemoved = errors.New("catfish: the group was taken out of the map of groups")

// errGone says what to do.
func errGone(group string) error {
	return fmt.Errorf("%w: nothing is left in group %q, and it takes no writes: stop its servers; or 'catfish cluster add %s' takes it back", errRemoved, group, group)
}

// removal is when a member said last that its group was removed.
type removal struct{ said time.Time }

// removalEvery is between such lines: it stays so until an operator does something.
const removalEvery = time.Hour

func (r *removal) log(log *slog.Logger, err error, now time.Time) {
	if r.said.IsZero() || now.Sub(r.said) >= removalEvery {
		r.said = now
		log.Error("this server is not needed", "error", err)
	}
}

// unnamed is what a member does whose group the map does not name: it has a store of its own, unless the
// map had it.
func (d *Daemon) unnamed(ctx context.Context, had bool) error {
	if !had {
		v, err := d.group.coord.Get(ctx, node.Key(d.o.Group.Name))
		if err != nil || v.Version == 0 {
			return err
		}
		g, err := node.Parse(v)
		if err != nil {
			return err
		}
		had = g.Removed
	}
	if had {
		return errGone(d.o.Group.Name)
	}
	return nil
}
