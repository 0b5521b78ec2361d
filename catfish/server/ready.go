package server

import (
	"fmt"
	"slices"

	"github.com/catfish-index/catfish/catfish/model"
)

// A collection that the server has not loaded looks like an empty one. So
// clients cannot open it: they get ErrNotReady, by whichever path they
// search, since every call begins with open. They stay connected meanwhile,
// and continue when the collection is ready.

// SetReady opens a collection of Options.Loading to clients.
func (s *Server) SetReady(name string) error {
	c, err := s.colls.byName(name)
	if err != nil {
		return err
	}
	c.loading.Store(false)
	return nil
}

// Ready returns nil if clients can use a collection. Otherwise the error wraps
// ErrNotReady or ErrUnknownCollection. It is for other services of the
// process, such as gRPC.
func (s *Server) Ready(name string) error {
	c, err := s.lookUp(name, s.colls.byName)
	if err != nil {
		return err
	}
	return c.ready()
}

func (c *collection) ready() error {
	if !c.loading.Load() {
		return nil
	}
	return fmt.Errorf("%w: the server is loading %q, which has %d objects so far", model.ErrNotReady, c.name, c.objects())
}

// loading lists the collections that are not ready, sorted.
func (cs *collections) loading() []string {
	var l []string
	for _, c := range cs.named() {
		if c.loading.Load() {
			l = append(l, c.name)
		}
	}
	slices.Sort(l)
	return l
}
