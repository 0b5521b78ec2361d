package model

import (
	"context"
	"fmt"
	"iter"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store/query"
)

// Features reads and changes a collection of features: places by area, distance,
// properties and id. All methods are safe for any number of goroutines.
//
// Each read sees every write that was acknowledged before it began, whichever path
// it takes: by message, or by reading the server's memory.
type Features struct{ be FeaturesBackend }

// FeaturesBackend carries calls out, over a connection or in this process. It is for
// packages of this module.
type FeaturesBackend interface {
	Put(ctx context.Context, fs []Feature, cond Condition, results []PutResult) error
	Patch(ctx context.Context, id string, patch []byte, cond Condition) (uint64, error)
	Erase(ctx context.Context, id string, cond Condition) (uint64, error)
	EraseWhere(ctx context.Context, q query.Query) (int, error)
	Get(ctx context.Context, ids []string, fields *feature.Selection, yield func(i int, f *Found) (bool, error)) error
	Search(ctx context.Context, q query.Query, yield func(*Found) (bool, error)) error
	Nearest(ctx context.Context, q query.NearestQuery, yield func(*Found) (bool, error)) error
	Count(ctx context.Context, q query.Query) (int, error)
	Explain(ctx context.Context, q query.Query) ([]Found, *Explanation, error)
	Watch(ctx context.Context, q *WatchQuery, yield func(FeatureEvent) bool) error
	Describe(ctx context.Context) (FeaturesInfo, error)
	Collection() string // its name
}

// NewFeatures returns the Features that a backend carries out.
func NewFeatures(be FeaturesBackend) *Features { return &Features{be} }

// Put stores a feature in place of the one of its id, if there is one, and returns
// the id, which Put makes if the feature has none, and the revision. When Put returns,
// the feature is as durable as the server makes it. ErrExists, ErrConflict: the condition
// does not hold, and nothing was changed. ErrFeature: the text says what is wrong with
// the feature.
func (f *Features) Put(ctx context.Context, place Feature, cond Condition) (id string, revision uint64, err error) {
	var results [1]PutResult
	if err := f.be.Put(ctx, []Feature{place}, cond, results[:]); err != nil {
		return "", 0, err
	}
	return results[0].ID, results[0].Revision, results[0].Err
}

// PutResult is the outcome for one feature of PutMany.
type PutResult struct {
	ID       string
	Revision uint64
	// Created: there was no feature of this id. Replaced: there was one. An older
	// server sets neither.
	Created, Replaced bool
	Err               error
}

// PutMany stores features, which is faster than one by one. Each is stored or not,
// independently of the others, as its result says. The error is that of all features
// without a result of their own.
func (f *Features) PutMany(ctx context.Context, places []Feature) ([]PutResult, error) {
	return f.PutManyIf(ctx, places, Condition{})
}

// PutManyIf is PutMany for features that are stored if a condition holds for each, as
// of Put: with IfAbsent, one whose id exists has the result ErrExists.
func (f *Features) PutManyIf(ctx context.Context, places []Feature, cond Condition) ([]PutResult, error) {
	results := make([]PutResult, len(places))
	return results, f.be.Put(ctx, places, cond, results)
}

// Patch changes properties by a JSON merge patch (RFC 7396), and returns the new
// revision. ErrNotFound: there is no such feature.
func (f *Features) Patch(ctx context.Context, id string, patch []byte, cond Condition) (revision uint64, err error) {
	return f.be.Patch(ctx, id, patch, cond)
}

// Delete removes a feature. ErrNotFound: there is none.
func (f *Features) Delete(ctx context.Context, id string, cond Condition) (revision uint64, err error) {
	return f.be.Erase(ctx, id, cond)
}

// DeleteWhere deletes the features that match a query, and returns how many were deleted,
// also with an error. With ErrUnknownOutcome more may be deleted.
func (f *Features) DeleteWhere(ctx context.Context, q FeatureQuery) (deleted int, err error) {
	return f.be.EraseWhere(ctx, q.OfStore())
}

// Get returns the feature of an id. ErrNotFound: there is none.
func (f *Features) Get(ctx context.Context, id string) (place Feature, err error) {
	err = f.be.Get(ctx, []string{id}, nil, func(_ int, found *query.Found) (bool, error) {
		if found == nil {
			return false, query.NoFeature(f.be.Collection(), id)
		}
		place = Feature(found.Feature())
		return true, nil
	})
	return place, err
}

// GetMany returns the features of ids, in their order; for an id without a feature, ID is
// empty. The features together are no snapshot.
func (f *Features) GetMany(ctx context.Context, ids []string) ([]Feature, error) {
	return f.getMany(ctx, ids, nil)
}

// GetFields is GetMany of some parts of features. By message the answers are
// smaller; a client that reads by offloading removes the other parts.
func (f *Features) GetFields(ctx context.Context, ids []string, fields FeatureFields) ([]Feature, error) {
	if len(fields.Fields) > query.MaxFields {
		return nil, fmt.Errorf("%w: %d fields, at most %d", fault.ErrQuery, len(fields.Fields), query.MaxFields)
	}
	return f.getMany(ctx, ids, (*feature.Selection)(&fields))
}

func (f *Features) getMany(ctx context.Context, ids []string, fields *feature.Selection) ([]Feature, error) {
	places := make([]Feature, len(ids))
	err := f.be.Get(ctx, ids, fields, func(i int, found *query.Found) (bool, error) {
		if found == nil {
			return true, nil
		}
		if fields != nil {
			found.Cut(nil, fields) // Perhaps found has only these already.
		}
		places[i] = Feature(found.Feature())
		return true, nil
	})
	return places, err
}

// Search yields the features that match a query. An error ends it.
//
// A feature that exists and matches during all of the search comes exactly once,
// as it was at a moment of the search; none comes that did not exist, or did not
// match, at any moment of it. Large answers come in pages, in the order of ids.
func (f *Features) Search(ctx context.Context, q FeatureQuery) iter.Seq2[Feature, error] {
	return each(func(yield func(*Found) (bool, error)) error { return f.be.Search(ctx, q.OfStore(), yield) })
}

// mostExplained is how many features a search that is explained may find: what one
// request gets.
const mostExplained = 1000

// Explain does what Search does, with a limit of up to 1,000, and explains the search.
func (f *Features) Explain(ctx context.Context, q FeatureQuery) ([]Feature, *Explanation, error) {
	if q.Limit < 0 || q.Limit > mostExplained {
		return nil, nil, fmt.Errorf("%w: Explain of %d features, want up to %d", ErrOption, q.Limit, mostExplained)
	}
	found, x, err := f.be.Explain(ctx, q.OfStore())
	if err != nil {
		return nil, x, err
	}
	fs := make([]Feature, len(found))
	for i := range found {
		fs[i] = Feature(found[i].Feature())
	}
	x.Results = len(fs)
	return fs, x, nil
}

// Nearest yields the features around a point, the nearest first, with their distances.
// An error ends it.
func (f *Features) Nearest(ctx context.Context, q NearestQuery) iter.Seq2[Feature, error] {
	return each(func(yield func(*Found) (bool, error)) error { return f.be.Nearest(ctx, q.OfStore(), yield) })
}

// Count returns how many features match a query, without its limit. It is exact.
func (f *Features) Count(ctx context.Context, q FeatureQuery) (int, error) {
	return f.be.Count(ctx, q.OfStore())
}

// each makes an iterator of a search.
func each(search func(yield func(*Found) (bool, error)) error) iter.Seq2[Feature, error] {
	return func(yield func(Feature, error) bool) {
		err := search(func(f *query.Found) (bool, error) { return yield(Feature(f.Feature()), nil), nil })
		if err != nil {
			yield(Feature{}, err)
		}
	}
}
