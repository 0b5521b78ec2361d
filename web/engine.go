package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/catfish-index/catfish/catfish/access"
)

// The engine room shows how a server and its clients are doing (docs/engine.md):
//
//	GET    /engine         what the server is
//	GET    /engine/events  a sample each second, as server-sent events
//	POST   /engine/load    starts clients that search, for some seconds
//	DELETE /engine/load    ends them
//
// What is in a sample is the Engine's matter. A server without one has no such
// pages. Where keys are wanted, they are for keys with role admin of all collections.

// Errors of Engine.Start. What it returns wraps one of them.
var (
	// ErrNoLoad: clients are not started on request.
	ErrNoLoad = errors.New("no load is started on request")
	// ErrLoadRuns: one load at a time.
	ErrLoadRuns = errors.New("a load is running")
	// ErrBadLoad: the request is wrong.
	ErrBadLoad = errors.New("wrong load")
)

// Engine is what the engine room shows. The methods are safe for concurrent use.
type Engine interface {
	// About is what the server is, for JSON.
	About() any
	// Next waits for a sample behind that of a number, 0: the next one. It returns
	// the sample, as JSON, which does not change, and its number; or the cause of
	// ctx's end.
	Next(ctx context.Context, after uint64) (sample []byte, number uint64, err error)
	// Start starts clients that search. They show the key, if one is not empty.
	Start(l Load, key string) error
	// Stop ends them.
	Stop()
}

// Load is what clients of the engine room do.
type Load struct {
	Collection string `json:"collection"` // of features
	Clients    int    `json:"clients"`
	Seconds    int    `json:"seconds"`
	Policy     string `json:"policy"` // how each chooses between messages and offloading; empty: the default
}

// everything is a collection name that no collection has, and that only a key for all
// collections matches.
const everything = "*"

// engineer is the server's engine, for a key that may see it.
func (q *request) engineer() (Engine, error) {
	return q.o.Engine, q.may(everything, access.Admin)
}

func (q *request) engine() error {
	e, err := q.engineer()
	if err != nil {
		return err
	}
	if err := q.params.end("none"); err != nil {
		return err
	}
	b, err := marshal(e.About())
	if err != nil {
		return err
	}
	q.w.Header().Set("Cache-Control", "no-store")
	return q.send(http.StatusOK, typeJSON, b)
}

// engineEvents answers with samples until the client goes.
func (q *request) engineEvents() error {
	e, err := q.engineer()
	if err != nil {
		return err
	}
	if err := q.params.end("none"); err != nil {
		return err
	}
	w, err := q.newEventWriter()
	if err != nil {
		return err
	}
	defer w.close()
	w.begin()
	if q.r.Method == http.MethodHead {
		return nil
	}
	// An early flush: the client sees that it is connected.
	err = w.event("about", "", func(b []byte) []byte { return append(b, "{}"...) })
	for number := uint64(0); err == nil; {
		if err = w.flush(); err != nil {
			break
		}
		var sample []byte
		if sample, number, err = e.Next(q.ctx, number); err == nil {
			err = w.event("sample", "", func(b []byte) []byte { return append(b, sample...) })
		}
	}
	w.leave()
	return nil
}

// engineLoad starts a load.
func (q *request) engineLoad() error {
	e, err := q.engineer()
	if err != nil {
		return err
	}
	if err := q.params.end("none"); err != nil {
		return err
	}
	if err := q.mediaType("POST wants", typeJSON); err != nil {
		return err
	}
	body, err := q.body()
	if err != nil {
		return err
	}
	var l Load
	if err := json.Unmarshal(body, &l); err != nil {
		return &statusError{http.StatusBadRequest, "the body: " + err.Error()}
	}
	switch err := e.Start(l, q.key); {
	case errors.Is(err, ErrNoLoad):
		return &statusError{http.StatusForbidden, err.Error()}
	case errors.Is(err, ErrLoadRuns):
		return &statusError{http.StatusConflict, err.Error()}
	case errors.Is(err, ErrBadLoad):
		return &statusError{http.StatusBadRequest, fmt.Sprintf("the body: %v", err)}
	case err != nil:
		return err
	}
	q.w.WriteHeader(http.StatusAccepted)
	return nil
}

// engineStop ends the load.
func (q *request) engineStop() error {
	e, err := q.engineer()
	if err != nil {
		return err
	}
	if err := q.params.end("none"); err != nil {
		return err
	}
	e.Stop()
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}
