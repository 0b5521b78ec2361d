package bench

import (
	"context"
	"fmt"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/rstar"
	"github.com/catfish-index/catfish/store/query"
)

// featureConn searches a collection of features. It supports no other
// operation: the mix must be SearchOnly.
type featureConn struct {
	CatfishConn
	of *catfish.Features
}

func newFeatureConn(c CatfishConn, job ClientJob) (Conn, error) {
	err := error(nil)
	if job.Mix != SearchOnly || job.Verify || job.Batch > 1 {
		err = fmt.Errorf("%w: features of %q are searched one by one only", ErrConfig, job.Features)
	}
	of, ferr := c.Features(job.Features)
	if err == nil {
		err = ferr
	}
	if err != nil {
		_ = c.Close() // The first error says more.
		return nil, err
	}
	return featureConn{c, of}, nil
}

// SearchAppend appends an item without id and box for each feature that intersects
// q: a feature's id is a text, and the load counts what it finds.
func (c featureConn) SearchAppend(ctx context.Context, dst []rstar.Item, q rstar.Rect) ([]rstar.Item, error) {
	for _, err := range c.of.Search(ctx, catfish.FeatureQuery{Area: query.Box(q.MinX, q.MinY, q.MaxX, q.MaxY)}) {
		if err != nil {
			return dst, err
		}
		dst = append(dst, rstar.Item{})
	}
	return dst, nil
}
