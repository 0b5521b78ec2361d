package cluster

import (
	"context"
	"path/filepath"

	"github.com/catfish-index/catfish/bench/members"
)

// Collections of the show.
const (
	mapName   = "map"   // is read
	notesName = "notes" // features that are written
	keptName  = "kept"  // boxes that are written
)

// servers are the processes.
type servers struct {
	members.Group
	cfg Config
}

// start starts the coordinator and three members, and loads the map.
func (g *servers) start(ctx context.Context, note func(string)) error {
	note("starting a coordinator and three servers")
	if err := g.StartCoordinator(ctx); err != nil {
		return err
	}
	for range 3 {
		m := g.Add()
		m.HTTP = "127.0.0.1:0"
		if err := g.StartMember(ctx, m); err != nil {
			return err
		}
	}
	if err := g.Whole(ctx); err != nil {
		return err
	}
	note("loading " + filepath.Base(g.cfg.Map))
	_, err := g.Command(ctx, "load", g.cfg.Map, "-c", mapName, "-s", g.Addrs())
	return err
}
