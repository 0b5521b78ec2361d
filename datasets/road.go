package datasets

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/places/input"
	"github.com/catfish-index/catfish/rstar"
)

// Road networks as published with "Real Datasets for Spatial Databases"
// (F. Li, University of Utah): two text files of the same name, fields
// separated by blanks. A first line that does not start with a number is
// a header; some of the published networks have one, others not.
//
//	NAME.cnode  NodeID Longitude Latitude
//	NAME.cedge  EdgeID StartNodeID EndNodeID L2Distance
//
// An item is the box of an edge, with the edge's id. The distance must be
// present, but is not used.

// roadNodeBytes is what a node takes in the map: 24 bytes and a control byte
// per slot, of which at least 7/16 are in use.
const roadNodeBytes = 60

// readRoad delivers the edges. The names are those of the two files, for
// error messages.
func readRoad(p *pass, nodes, edges io.Reader, nodeName, edgeName string) error {
	at := make(map[uint64]orb.Point)
	err := roadLines(nodes, 3, func(f [][]byte) error {
		id, err := parseID(f[0])
		if err != nil {
			return err
		}
		x, errX := parseCoordinate(f[1])
		y, errY := parseCoordinate(f[2])
		if err := errors.Join(errX, errY); err != nil {
			return err
		}
		if _, twice := at[id]; twice {
			return fmt.Errorf("%w: node %d is defined twice", ErrSyntax, id)
		}
		if err := p.memory.Keep(roadNodeBytes, "the positions of nodes"); err != nil {
			return err
		}
		at[id] = orb.Point{x, y}
		return rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}.Validate()
	})
	if err != nil {
		return p.roadError(nodeName, err)
	}
	err = roadLines(edges, 4, func(f [][]byte) error {
		var ids [3]uint64
		for i := range ids {
			var err error
			if ids[i], err = parseID(f[i]); err != nil {
				return err
			}
		}
		a, okA := at[ids[1]]
		b, okB := at[ids[2]]
		if !okA || !okB {
			missing := ids[1]
			if okA {
				missing = ids[2]
			}
			return fmt.Errorf("%w: edge %d ends at node %d, which %s lacks",
				ErrSyntax, ids[0], missing, nodeName)
		}
		if _, err := parseCoordinate(f[3]); err != nil {
			return err
		}
		return p.emit(box(a, b), ids[0])
	})
	return p.roadError(edgeName, err)
}

func box(a, b orb.Point) rstar.Rect {
	return rstar.Rect{
		MinX: min(a[0], b[0]), MinY: min(a[1], b[1]),
		MaxX: max(a[0], b[0]), MaxY: max(a[1], b[1]),
	}
}

// lineError is an error at a line of one of the two files.
type lineError struct {
	line int64
	err  error
}

func (e *lineError) Error() string { return e.err.Error() }
func (e *lineError) Unwrap() error { return e.err }

// roadError adds the position to an error of roadLines.
func (p *pass) roadError(name string, err error) error {
	var at *lineError
	if !errors.As(err, &at) || errors.Is(err, errStop) {
		return err
	}
	return &ReadError{
		Name: name, Line: at.line, Offset: -1, Delivered: p.delivered, Err: at.err,
	}
}

// roadLines calls each with the fields of every line after the header.
func roadLines(r io.Reader, columns int, each func([][]byte) error) error {
	lines := newLineReader(r)
	for {
		line, err := lines.next()
		if err == io.EOF && lines.number > 0 {
			return nil
		}
		if err == io.EOF {
			err = fmt.Errorf("%w: no line at all", ErrTruncated)
		}
		if err == nil {
			err = roadLine(line, lines.number == 1, columns, each)
		}
		if err != nil {
			return &lineError{max(lines.number, 1), err}
		}
	}
}

func roadLine(line []byte, header bool, columns int, each func([][]byte) error) error {
	fields := bytes.Fields(line)
	switch {
	case len(fields) == 0 && !header:
		return nil
	case len(fields) != columns:
		return fmt.Errorf("%w: %d fields in %s, want %d",
			ErrSyntax, len(fields), input.Quote(string(line)), columns)
	}
	if _, err := parseID(fields[0]); header && err != nil {
		return nil
	}
	return each(fields)
}
