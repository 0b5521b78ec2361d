package web

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/whole"
)

// Creating, changing and dropping collections
//
//	PUT    /collections/{id}  creates the collection, or alters it
//	POST   /collections       creates one, with the id in the body
//	PATCH  /collections/{id}  changes title and description (RFC 7396)
//	DELETE /collections/{id}  drops it with all its features
//
// OGC API has no standard for that. These are the methods of STAC API's Collection
// Transaction extension, which mean for collections what Part 4 means for features. All
// require role admin of the collection, as over gRPC.

// administers is the store, for a key that may create and drop a collection of this name.
func (q *request) administers(name string) (whole.Store, error) {
	if err := q.may(name, access.Admin); err != nil {
		return whole.Store{}, err
	}
	if err := q.params.end("none"); err != nil {
		return whole.Store{}, err
	}
	return q.ready()
}

// createCollection answers to POST.
func (q *request) createCollection() error {
	s, err := q.specIn(false, typeJSON)
	if err != nil {
		return err
	}
	if s.id == nil {
		return &statusError{http.StatusBadRequest, `the body: id is missing, want such as {"id":"cafes"}`}
	}
	st, err := q.administers(*s.id)
	if err != nil {
		return err
	}
	switch _, err := st.Collection(*s.id); {
	case err == nil, errors.Is(err, catfish.ErrKind):
		return &statusError{http.StatusConflict, fmt.Sprintf("there is a collection %.200q", *s.id)}
	case !errors.Is(err, store.ErrUnknownCollection):
		return err
	}
	return q.make(st, *s.id, s.alter(store.CollectionOptions{}))
}

// make creates a collection that did not exist a moment ago.
func (q *request) make(st whole.Store, name string, o store.CollectionOptions) error {
	if err := q.host.CheckMemory(); err != nil {
		return err
	}
	if _, err := st.CreateFeatures(q.ctx, name, o); err != nil {
		return ofCollection(err)
	}
	q.w.Header().Set("Location", q.at("", "collections", name))
	q.w.WriteHeader(http.StatusCreated)
	return nil
}

// ofCollection describes an error of creating or altering a collection.
func ofCollection(err error) error {
	switch {
	case errors.Is(err, catfish.ErrOption), errors.Is(err, store.ErrName):
		return &statusError{http.StatusBadRequest, withoutPackages(err.Error())}
	case errors.Is(err, store.ErrCollectionExists), errors.Is(err, catfish.ErrKind):
		return &statusError{http.StatusConflict, withoutPackages(err.Error())}
	case errors.Is(err, catfish.ErrNotPermitted):
		return &statusError{http.StatusForbidden, withoutPackages(err.Error())}
	}
	return err
}

// replaceCollection answers to PUT.
func (q *request) replaceCollection() error {
	name := q.r.PathValue("collectionId")
	st, err := q.administers(name)
	if err != nil {
		return err
	}
	s, err := q.specIn(true, typeJSON)
	if err == nil {
		err = s.isOf(name)
	}
	if err != nil {
		return err
	}
	o := s.alter(store.CollectionOptions{})
	switch _, err := st.Collection(name); {
	case errors.Is(err, store.ErrUnknownCollection):
		return q.make(st, name, o)
	case err != nil:
		return ofCollection(err)
	}
	return q.altered(st, name, o)
}

func (q *request) altered(st whole.Store, name string, o store.CollectionOptions) error {
	if _, err := q.find(access.Admin); err != nil {
		return err // The collection is planar.
	}
	if err := st.Alter(q.ctx, name, o); err != nil {
		return ofCollection(err)
	}
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}

// patchCollection answers to PATCH.
func (q *request) patchCollection() error {
	name := q.r.PathValue("collectionId")
	st, err := q.administers(name)
	if err != nil {
		return err
	}
	c, err := q.find(access.Admin)
	if err != nil {
		return err
	}
	s, err := q.specIn(false, typeMergePatch)
	if err == nil {
		err = s.isOf(name)
	}
	if err != nil {
		return err
	}
	return q.altered(st, name, s.alter(c.Options()))
}

// dropCollection answers to DELETE.
func (q *request) dropCollection() error {
	name := q.r.PathValue("collectionId")
	st, err := q.administers(name)
	if err != nil {
		return err
	}
	if _, err := q.find(access.Admin); err != nil {
		return err
	}
	ok, err := st.DropFeatures(q.ctx, name)
	switch {
	case err != nil:
		return ofCollection(err)
	case !ok:
		return unknownCollection(name)
	}
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}

func unknownCollection(name string) error {
	return &statusError{http.StatusNotFound, fmt.Sprintf("there is no collection %.200q; /collections has all", name)}
}
