package server

import (
	"context"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
)

// watch is Watch in this process.
func (l *localFeatures) Watch(ctx context.Context, q *model.WatchQuery, yield func(model.FeatureEvent) bool) error {
	if err := wire.OneServers(q); err != nil {
		return err
	}
	c, err := l.begin(ctx)
	if err != nil {
		return err
	}
	w, err := c.Watch(ctx, store.WatchOptions{From: q.From, History: q.History})
	if err != nil {
		return err
	}
	defer w.Close()
	for _, a := range wire.AreasOf(q) {
		if err := w.Add(a.Name, a.Query); err != nil {
			return err
		}
	}
	pos, history := w.Revision(), w.History()
	if !yield(model.FeatureEvent{Revision: pos, Resume: pos, History: history}) {
		return nil
	}
	for {
		e, err := w.Next(ctx)
		switch {
		case err != nil && e.Revision != 0:
			return &model.WatchError{Event: eventOf(&e, history, q.Old), Err: err}
		case err != nil:
			return err
		case !yield(eventOf(&e, history, q.Old)):
			return nil
		}
	}
}

// eventOf copies an event into memory of its own.
func eventOf(e *store.Event, history uint64, old bool) model.FeatureEvent {
	f := model.FeatureEvent{Kind: e.Kind, Why: e.Why, Area: e.Name, ID: e.ID, Revision: e.Revision, Resume: e.Resume, History: history}
	f.Feature.ID = e.ID
	if e.New != nil {
		f.Feature = model.Feature(e.New.Feature())
	}
	if old && e.Old != nil {
		before := model.Feature(e.Old.Feature())
		f.Old = &before
	}
	return f
}
