package datasets

import (
	"io"

	"github.com/catfish-index/catfish/internal/places/input"
)

// The objects of an OpenStreetMap PBF file, unchanged. [NewOSMFile] reads them.
type (
	OSMFile    = input.OSMFile
	OSMVisitor = input.OSMVisitor
	OSMTag     = input.OSMTag
	OSMMember  = input.OSMMember
	OSMKind    = input.OSMKind
)

// The kinds of objects, by their numbers in PBF.
const (
	OSMNode     = input.OSMNode
	OSMWay      = input.OSMWay
	OSMRelation = input.OSMRelation
)

// NewOSMFile reads from r, which need not be buffered.
func NewOSMFile(r io.Reader) *OSMFile { return input.NewOSMFile(r) }
