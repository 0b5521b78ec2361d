package server

import (
	"encoding/binary"
	"errors"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/internal/recording"
	"github.com/catfish-index/catfish/internal/wire"
)

// ErrRecord is wrapped by all errors about the file of a recording.
var ErrRecord = recording.ErrRecord

// RecordOptions selects the requests that a server records, in the format of
// package querylog. Searches that clients offload do not reach the server, so
// they are not recorded.
type RecordOptions struct {
	// File is the file to write; empty: nothing is recorded. It must not
	// exist (fs.ErrExist), unless Force is set: then it is overwritten.
	File  string
	Force bool
	// Writes adds inserts, deletes and updates to the recording.
	Writes bool
}

// record starts the recording. It must be called before Serve.
func (s *Server) record(r *recording.Recorder) {
	s.rec = r
	r.Start(s.store.NameOf)
}

// endRecord ends the recording, for Close. A server that never served, or ends
// before its data was loaded, removes the file, which would keep the next
// server from starting.
func (s *Server) endRecord() error {
	if s.rec == nil {
		return nil
	}
	err := s.rec.Close()
	if !s.served || len(s.loading()) > 0 && s.rec.Stats().Records == 0 {
		err = errors.Join(err, s.rec.Remove())
	}
	return err
}

// Recording returns the state of the recording, also after Close. It is nil if
// nothing is recorded.
func (s *Server) Recording() *model.RecordStats {
	if s.rec == nil {
		return nil
	}
	st := model.RecordStats(s.rec.Stats())
	return &st
}

// vias are the transports and gRPC as a recording names them.
var vias = map[string]querylog.Via{
	model.TransportSHM: querylog.ViaSHM, model.TransportSoft: querylog.ViaSoft,
	model.TransportOFI: querylog.ViaOFI, model.TransportTCP: querylog.ViaTCP,
	"grpc": querylog.ViaGRPC,
}

// recordAs records the requests of a client.
type recordAs struct {
	rec    *recording.Recorder // nil: nothing is recorded
	tap    *recording.Tap      // of a worker's goroutine; nil: the recorder's shared one
	via    querylog.Via
	client uint32
}

func (v *service) as(from *peer) recordAs { return recordAs{v.s.rec, v.tap, v.via, from.client} }

// shared is for other goroutines than the worker's.
func (r recordAs) shared() recordAs {
	r.tap = nil
	return r
}

// record records a request that was carried out, alone or in a batch, with its
// answer. A request that failed is not recorded, since a replay must make
// valid requests only; but if an insertMany failed, its first done items are
// in the tree, and in the recording.
func (r recordAs) record(req *request, out []byte, done uint64, err error) {
	if r.rec == nil || err != nil && req.kind != wire.KindInsertMany {
		return
	}
	rec := r.of(req)
	switch req.kind {
	case wire.KindSearch, wire.KindNearest:
		r.recordRead(req, len(out)/wire.ItemBytes)
		return
	case wire.KindCount:
		r.recordRead(req, int(binary.LittleEndian.Uint64(out)))
		return
	case wire.KindSearchMany:
		rec.Kind = querylog.Search
		for _, q := range req.rects {
			// The client will repeat searches that are not answered.
			if rec.Found = binary.LittleEndian.Uint32(out); rec.Found == wire.Unanswered {
				break
			}
			rec.Rect, out = q, out[4:]
			r.add(&rec)
		}
		return
	case wire.KindInsert:
		rec.Kind, rec.ID, rec.Found = querylog.Insert, req.id, 1
	case wire.KindInsertMany:
		rec.Kind, rec.Found = querylog.Insert, 1
		for i := range done {
			it := wire.GetItem(req.items[i*wire.ItemBytes:])
			rec.Rect, rec.ID = it.Rect, it.ID
			r.add(&rec)
		}
		return
	case wire.KindDelete:
		rec.Kind, rec.ID, rec.Found = querylog.Delete, req.id, uint32(out[0])
	case wire.KindUpdate:
		rec.Kind, rec.To, rec.ID, rec.Found = querylog.Update, req.to, req.id, uint32(out[0])
	default:
		return
	}
	r.add(&rec)
}

// recordRead records a search, count or nearest that found n objects.
func (r recordAs) recordRead(req *request, n int) {
	if r.rec == nil {
		return
	}
	rec := r.of(req)
	rec.Found = uint32(min(uint64(n), querylog.NotKnown))
	switch req.kind {
	case wire.KindSearch:
		rec.Kind, rec.Limit = querylog.Search, req.limit
	case wire.KindCount:
		rec.Kind = querylog.Count
	case wire.KindNearest:
		if req.limit == 0 {
			return // It asks for nothing; in a recording 0 means no limit.
		}
		rec.Kind, rec.X, rec.Y = querylog.Nearest, req.rect.MinX, req.rect.MinY
		rec.Limit, rec.Within = req.limit, req.within
	}
	r.add(&rec)
}

func (r recordAs) of(req *request) querylog.Record {
	return querylog.Record{Via: r.via, Client: r.client, Collection: req.coll.Number, Rect: req.rect}
}

func (r recordAs) add(rec *querylog.Record) {
	if r.tap != nil {
		r.tap.Add(rec)
		return
	}
	r.rec.Add(rec)
}
