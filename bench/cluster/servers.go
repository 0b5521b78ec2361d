package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/catfish-index/catfish/bench/members"
	"github.com/catfish-index/catfish/internal/placement"
)

// Collections of the show.
const (
	mapName   = "map"   // is read
	notesName = "notes" // features that are written
	keptName  = "kept"  // boxes that are written
)

// servers are the processes: a coordinator, and the members of each group.
type servers struct {
	cfg    Config
	groups []*members.Group // the primary of the first one is killed
	slots  *placement.Map   // of several groups, nil: there is one
}

// newServers returns one group of three members, or several of two: a primary, and one that
// takes over.
func newServers(cfg Config, dir string) (*servers, error) {
	g, each := &servers{cfg: cfg}, 3
	if cfg.Groups < 2 {
		g.groups = []*members.Group{{Program: cfg.Program, Dir: dir}}
	} else {
		var of []placement.Group
		each = 2
		for i := range cfg.Groups {
			name := fmt.Sprintf("g%d", i+1)
			of = append(of, placement.Group{Name: name, Weight: 1})
			g.groups = append(g.groups, &members.Group{Name: name, Program: cfg.Program, Dir: filepath.Join(dir, name)})
			if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
				return nil, err
			}
		}
		var err error
		if g.slots, err = placement.New(of); err != nil { // as 'cluster init' does
			return nil, err
		}
	}
	for _, of := range g.groups {
		for range each {
			if m := of.Add(); g.slots == nil {
				m.HTTP = "127.0.0.1:0"
			}
		}
	}
	return g, nil
}

// first is the group whose primary is killed.
func (g *servers) first() *members.Group { return g.groups[0] }

// addrs are those that clients name.
func (g *servers) addrs() string {
	var all []string
	for _, of := range g.groups {
		all = append(all, of.Addrs())
	}
	return strings.Join(all, ",")
}

// ofFirst reports whether the first group has a feature.
func (g *servers) ofFirst(id string) bool { return g.slots == nil || g.slots.Of([]byte(id)) == 0 }

// noted says where notes are written: to the first group (true), and to the others if
// there are any.
func (g *servers) noted() []bool {
	if g.slots != nil {
		return []bool{true, false}
	}
	return []bool{true}
}

// paths are those by which clients read: HTTP is not on several groups.
func (g *servers) paths() []string {
	if g.slots != nil {
		return []string{Message, OneSided}
	}
	return Paths
}

// start starts the coordinator and all members, and loads the map.
func (g *servers) start(ctx context.Context, note func(string)) error {
	count := len(g.groups) * len(g.first().Members)
	if g.slots == nil {
		note(fmt.Sprintf("starting a coordinator and %d servers", count))
	} else {
		note(fmt.Sprintf("starting a coordinator and %d servers, of %d groups", count, len(g.groups)))
	}
	if err := g.first().StartCoordinator(ctx); err != nil {
		return err
	}
	init := []string{"cluster", "init", "--coordinators", g.first().Coordinator}
	for _, of := range g.groups {
		of.Coordinator = g.first().Coordinator
		init = append(init, of.Name)
	}
	if g.slots != nil {
		if _, err := g.first().Command(ctx, init...); err != nil {
			return err
		}
	}
	for _, of := range g.groups {
		for _, m := range of.Members {
			if err := of.StartMember(ctx, m); err != nil {
				return err
			}
		}
	}
	if _, err := g.whole(ctx); err != nil {
		return err
	}
	note("loading " + filepath.Base(g.cfg.Map))
	_, err := g.first().Command(ctx, "load", g.cfg.Map, "-c", mapName, "-s", g.addrs())
	return err
}

// whole waits until all members of all groups are in sync, and counts them.
func (g *servers) whole(ctx context.Context) (inSync int, err error) {
	for _, of := range g.groups {
		if err := of.Whole(ctx); err != nil {
			return 0, err
		}
		inSync += len(of.Members)
	}
	return inSync, nil
}

// stop kills all: their directories are about to be removed.
func (g *servers) stop() (err error) {
	for i := len(g.groups) - 1; i >= 0; i-- { // The first has the coordinator.
		err = errors.Join(err, g.groups[i].Stop())
	}
	return err
}
