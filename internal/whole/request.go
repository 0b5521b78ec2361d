package whole

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
)

const (
	// pageFeatures and pageBytes bound a page: a group has a page of each other group in memory.
	pageFeatures, pageBytes = 4096, 2 << 20
	// foundBytes is a feature in memory, besides its bytes.
	foundBytes = 160
)

// op is what a group is asked for.
type op string

const (
	opPage     op = "page"   // features in the order of ids, at most Limit
	opStream   op = "stream" // features of an area, in no order
	opCount    op = "count"
	opLen      op = "len"
	opGet      op = "get"
	opNear     op = "near"
	opDescribe op = "describe"
	opSchema   op = "schema"
	opPut      op = "put"
	opPatch    op = "patch"
	opDelete   op = "delete"
	opErase    op = "erase" // all that match
	opCreate   op = "create"
	opAlter    op = "alter"
	opDrop     op = "drop"
	opBoxes    op = "boxes" // counts boxes of an area
	opCells    op = "cells"
	opWatch    op = "watch"

	opFindBoxes  op = "find boxes"
	opCountBoxes op = "count boxes"
	opWriteBoxes op = "write boxes"
)

// changes reports whether a request writes: lost, its outcome is unknown.
func (o op) changes() bool {
	switch o {
	case opPut, opPatch, opDelete, opErase, opCreate, opAlter, opDrop, opWriteBoxes:
		return true
	}
	return false
}

// request is asked of one group.
type request struct {
	Op         op
	Epoch      uint64 // of the map, for requests of many ids; 0: of one
	Collection string
	IDs        []string                 `json:",omitempty"`
	Query      *queryText               `json:",omitempty"`
	Near       *nearText                `json:",omitempty"`
	Options    *store.CollectionOptions `json:",omitempty"`
	Patch      []byte                   `json:",omitempty"`
	If         kv.Condition             `json:",omitzero"`
	Grid       *gridText                `json:",omitempty"`
	Most       int                      `json:",omitempty"` // boxes that are counted
	Sample     *sampleText              `json:",omitempty"`

	Areas []areaWatched      `json:",omitempty"`
	From  store.WatchOptions `json:",omitzero"` // where a watch begins

	Box *boxText `json:",omitempty"`

	puts   []put
	events *events
	boxes  func([]FoundBox) error // gets what is found; its argument is valid until it returns
}

// answer of one group, besides features.
type answer struct {
	N           int                `json:",omitempty"`
	More        bool               `json:",omitempty"` // there may be features after these
	Matched     int                `json:",omitempty"` // of a page that counts
	Revision    uint64             `json:",omitempty"`
	Description *store.Description `json:",omitempty"`
	Stored      []storedText       `json:",omitempty"`
	Cells       *cellsText         `json:",omitempty"`
}

// put is one feature to store.
type put struct {
	store.EncodedFeature
	cond       kv.Condition
	collection string
	until      time.Time // it is not tried again
	done       func(store.Stored)
}

func (p *put) conditional() bool { return p.cond != kv.Condition{} }

// gridText is what an rstar.Grid wants.
type gridText struct {
	X, Y     []float64
	MostWide int
	Draw     bool // The features that are wide or alone are wanted.
}

// cellsText is what an rstar.Grid has found.
type cellsText struct {
	Counts  []uint32
	TooMany bool // wide ones
}

// tagWide is that of a wide feature; others have the number of their cell.
const tagWide = -1

// areaWatched is an area, by its name.
type areaWatched struct {
	Name  string
	Query *queryText
}

// events get those of a group.
type events struct {
	stands func(at store.WatchOptions) error
	take   func(*store.Event, error) error
	flush  func() error
}

// readRequest reads a request. hold is called with the bytes of each frame before.
func readRequest(body io.Reader, hold func(int64) error) (*request, error) {
	in := bufio.NewReader(body)
	kind, b, err := readFrame(in, hold)
	if err == nil && kind != frameRequest {
		err = fmt.Errorf("%w: a request that begins with %q", errFormat, kind)
	}
	if err != nil {
		return nil, err
	}
	r := new(request)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%w: %w", errFormat, err)
	}
	for {
		kind, b, err := readFrame(in, hold)
		switch {
		case errors.Is(err, io.EOF):
			return r, r.check()
		case err == nil && kind != framePut:
			err = fmt.Errorf("%w: a frame of kind %q in a request", errFormat, kind)
		}
		if err != nil {
			return nil, err
		}
		p, err := getPut(b)
		if err != nil {
			return nil, err
		}
		r.puts = append(r.puts, p)
	}
}

// check refuses requests that lack what they need.
func (r *request) check() error {
	lacks := ""
	switch r.Op {
	case opPage, opStream, opCount, opErase, opBoxes, opCells:
		if r.Query == nil {
			lacks = "a query"
		}
		if r.Op == opCells && (r.Grid == nil || len(r.Grid.X) < 2 || len(r.Grid.Y) < 2) {
			lacks = "a grid"
		}
	case opWatch:
		for i := range r.Areas {
			if r.Areas[i].Query == nil {
				lacks = "the query of an area"
			}
		}
	case opFindBoxes, opCountBoxes, opWriteBoxes:
		lacks = r.checkBoxes()
	case opNear:
		if r.Near == nil {
			lacks = "a query"
		}
	case opPatch, opDelete:
		if len(r.IDs) != 1 {
			lacks = "an id"
		}
	case opCreate, opAlter:
		if r.Options == nil {
			lacks = "options"
		}
	}
	if lacks != "" {
		return fmt.Errorf("%w: request %q without %s", errFormat, r.Op, lacks)
	}
	return nil
}
