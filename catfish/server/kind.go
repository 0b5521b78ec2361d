package server

import (
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
)

func (c *collection) kind() string {
	if c.features != nil {
		return model.KindFeatures
	}
	return wire.KindOf(c.records != nil)
}

// isOf returns an error if the collection is of another kind.
func (c *collection) isOf(kind string) error {
	if is := c.kind(); is != kind {
		return fmt.Errorf("%w: %q is one of %s, not of %s", model.ErrKind, c.name, is, kind)
	}
	return nil
}
