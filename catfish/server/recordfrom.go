package server

import (
	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/rstar"
)

// Recorded is a request that another service of the server's process carries
// out, for RecordFrom. Fields that a kind does not use are zero.
type Recorded struct {
	Kind   RecordKind
	Via    string     // "grpc", or a transport's name; others are recorded as "unknown"
	Client uint32     // of RecordClient
	Rect   rstar.Rect // search, count, insert, delete; update: the old one
	To     rstar.Rect // update: the new one
	ID     uint64     // insert, delete, update
	X, Y   float64    // nearest
	Within float64    // nearest: most distance; may be infinite
	Limit  uint32     // search: most objects, 0 for all; nearest: k
	Found  int        // objects of the answer; below 0: not known
}

// RecordKind says what was requested.
type RecordKind uint8

// The kinds of requests.
const (
	RecordSearch  = RecordKind(querylog.Search)
	RecordCount   = RecordKind(querylog.Count)
	RecordNearest = RecordKind(querylog.Nearest)
	RecordInsert  = RecordKind(querylog.Insert)
	RecordDelete  = RecordKind(querylog.Delete)
	RecordUpdate  = RecordKind(querylog.Update)
)

// RecordClient returns the number of a new connection, for RecordFrom. It is 0
// if nothing is recorded.
func (s *Server) RecordClient() uint32 {
	if s.rec == nil {
		return 0
	}
	return s.rec.Client()
}

// RecordFrom records a request that reached the server through another service
// of its process, such as gRPC; requests over the server's own transports are
// recorded without it. Pass it valid requests only, since a replay repeats them.
// It does nothing if nothing is recorded, or the collection or the kind is
// unknown.
func (s *Server) RecordFrom(collection string, r Recorded) {
	if s.rec == nil || !querylog.Kind(r.Kind).Asks() {
		return
	}
	c, err := s.store.Lookup(collection)
	if err != nil {
		return
	}
	rec := querylog.Record{
		Kind: querylog.Kind(r.Kind), Via: vias[r.Via], Client: r.Client, Collection: c.Number,
		Rect: r.Rect, To: r.To, ID: r.ID, X: r.X, Y: r.Y, Within: r.Within, Limit: r.Limit,
		Found: querylog.NotKnown,
	}
	if r.Found >= 0 {
		rec.Found = uint32(min(uint64(r.Found), querylog.NotKnown))
	}
	s.rec.Add(&rec)
}
