package input

import (
	"fmt"
	"io"
)

// OSMFile reads the objects of an OpenStreetMap PBF file, unchanged: package
// internal/places makes places of them, package datasets boxes. It is for one
// goroutine.
type OSMFile struct {
	file  pbfReader
	block osmBlock
	start int64
}

// OSMVisitor receives objects in the order of the file. Arguments are valid
// during the call only. An error ends reading, and Next returns it.
type OSMVisitor interface {
	// Node is a point in degrees, within 180 and 90.
	Node(id int64, lon, lat float64, tags []OSMTag) error
	// Way is a line through nodes, at most 2^20.
	Way(id int64, nodes []int64, tags []OSMTag) error
	// Relation is a group of up to 2^17 objects.
	Relation(id int64, members []OSMMember, tags []OSMTag) error
}

// OSMTag is a key and its value: UTF-8 if the file keeps the rules.
type OSMTag struct{ Key, Value []byte }

// OSMMember is a member of a relation.
type OSMMember struct {
	ID   int64
	Kind OSMKind
	Role []byte
}

// OSMKind is the kind of object that an id identifies.
type OSMKind uint8

// The kinds of objects, by their numbers in PBF.
const (
	OSMNode OSMKind = iota
	OSMWay
	OSMRelation
)

// NewOSMFile reads from r, which need not be buffered.
func NewOSMFile(r io.Reader) *OSMFile { return &OSMFile{file: pbfReader{r: r}} }

// Next reads one block and passes its objects to v. It returns io.EOF after the
// last one. Other errors are final; those of the file wrap ErrSyntax,
// ErrTruncated, ErrTooLarge or ErrUnsupported.
func (f *OSMFile) Next(v OSMVisitor) error {
	f.start = f.file.next
	first := f.start == 0
	kind, data, err := f.file.frame()
	want := "OSMData"
	if first {
		want = "OSMHeader"
	}
	switch {
	case err == io.EOF && first:
		return fmt.Errorf("%w: no OSMHeader", ErrTruncated)
	case err != nil:
		return err
	case kind != want:
		return fmt.Errorf("%w: blob of type %s, want %s", ErrSyntax, Quote(kind), want)
	case first:
		return checkOSMHeader(data)
	}
	f.block.visitor = v
	return f.block.read(data)
}

// Offset returns where the last block begins, in bytes from the start.
func (f *OSMFile) Offset() int64 { return f.start }
