package catfish

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/internal/recording"
)

// ErrRecord is wrapped by errors about the file of RecordOptions.
var ErrRecord = recording.ErrRecord

// RecordOptions says what a server records of what it is asked, in the
// format of package querylog. Searches that clients offload never reach
// the server and are not recorded.
type RecordOptions struct {
	// File to write; empty: nothing is recorded. One that exists is an
	// error (fs.ErrExist), unless Force is set: it is overwritten then.
	File  string
	Force bool
	// Writes has inserts, deletes and updates recorded, too.
	Writes bool
}

// RecordStats is how a recording goes.
type RecordStats struct {
	File    string `json:"file"`
	Writes  bool   `json:"writes"`
	Records uint64 `json:"records"` // requests in the file
	Dropped uint64 `json:"dropped"` // requests that are missing there
	Bytes   uint64 `json:"bytes"`
	Error   string `json:"error,omitempty"` // why nothing more is written
}

// record begins to record what s is asked. Serve was not called yet.
func (s *Server) record(r *recording.Recorder) {
	s.rec = r
	r.Start(func(n uint32) string {
		c, err := s.colls.byNumber(n)
		if err != nil {
			return "unknown" // Cannot be: its number came from there.
		}
		return c.name
	})
}

// endRecord is for Close. A server that never served, because its data
// could not be loaded, say, leaves no file in the way of the next one.
func (s *Server) endRecord() error {
	if s.rec == nil {
		return nil
	}
	err := s.rec.Close()
	if !s.served {
		err = errors.Join(err, s.rec.Remove())
	}
	return err
}

// Recording is how the recording goes, nil when nothing is recorded.
// After Close it is how it went.
func (s *Server) Recording() *RecordStats {
	if s.rec == nil {
		return nil
	}
	st := RecordStats(s.rec.Stats())
	return &st
}

// RecordClient numbers a connection for RecordFrom. It is 0 when nothing
// is recorded.
func (s *Server) RecordClient() uint32 {
	if s.rec == nil {
		return 0
	}
	return s.rec.Client()
}

// RecordFrom records a request that reached the server by a service of
// the caller's own, as gRPC is; what comes by the server's transports is
// recorded without it. The record's offset and collection are set here.
// It does nothing when nothing is recorded or there is no such collection.
func (s *Server) RecordFrom(collection string, rec querylog.Record) {
	if s.rec == nil {
		return
	}
	c, err := s.colls.byName(collection)
	if err != nil {
		return
	}
	rec.Collection = c.num
	s.rec.Add(&rec)
}

// vias are the transports' numbers in a recording.
var vias = map[string]querylog.Via{
	TransportSHM: querylog.ViaSHM, TransportSoft: querylog.ViaSoft,
	TransportOFI: querylog.ViaOFI, TransportTCP: querylog.ViaTCP,
}

// record records a request that was carried out, with its answer: alone or
// in a batch, it is recorded here. One that failed is not: what a replay
// asks must be valid. Of an insertMany that failed, the first done are in
// the tree.
func (v *service) record(req *request, out []byte, done uint64, err error) {
	if v.s.rec == nil || err != nil && req.kind != kindInsertMany {
		return
	}
	rec := querylog.Record{Via: v.via, Client: v.client, Collection: req.coll.num, Rect: req.rect}
	switch req.kind {
	case kindSearch:
		rec.Kind, rec.Limit = querylog.Search, req.limit
		rec.Found = found(len(out) / itemBytes)
	case kindCount:
		rec.Kind = querylog.Count
		rec.Found = uint32(min(binary.LittleEndian.Uint64(out), querylog.NotKnown))
	case kindNearest:
		if req.limit == 0 {
			return // Asks for nothing, and a log's 0 is no limit.
		}
		rec.Kind, rec.X, rec.Y = querylog.Nearest, req.rect.MinX, req.rect.MinY
		rec.Limit, rec.Within = req.limit, math.Inf(1)
		rec.Found = found(len(out) / itemBytes)
	case kindSearchMany:
		rec.Kind = querylog.Search
		for _, q := range req.rects {
			// What is not answered is asked, and recorded, again.
			if rec.Found = binary.LittleEndian.Uint32(out); rec.Found == unanswered {
				break
			}
			rec.Rect, out = q, out[4:]
			v.add(&rec)
		}
		return
	case kindInsert:
		rec.Kind, rec.ID, rec.Found = querylog.Insert, req.id, 1
	case kindInsertMany:
		rec.Kind, rec.Found = querylog.Insert, 1
		for i := range done {
			it := getItem(req.items[i*itemBytes:])
			rec.Rect, rec.ID = it.Rect, it.ID
			v.add(&rec)
		}
		return
	case kindDelete:
		rec.Kind, rec.ID, rec.Found = querylog.Delete, req.id, uint32(out[0])
	case kindUpdate:
		rec.Kind, rec.To, rec.ID, rec.Found = querylog.Update, req.to, req.id, uint32(out[0])
	default:
		return
	}
	v.add(&rec)
}

// add records by the service's own tap, if it has one.
func (v *service) add(rec *querylog.Record) {
	if v.tap != nil {
		v.tap.Add(rec)
		return
	}
	v.s.rec.Add(rec)
}

// found is a number of objects as a record holds it.
func found(n int) uint32 { return uint32(min(uint64(n), querylog.NotKnown)) }
