package daemon

import (
	"context"
	"math"

	"google.golang.org/grpc/stats"

	"github.com/catfish-index/catfish/api"
	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/rstar"
)

// recordGRPC records the requests of gRPC as they arrive, before their results
// are known. Each connection is a client.
type recordGRPC struct{ srv *server.Server }

type grpcClient struct{}

func (r recordGRPC) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return context.WithValue(ctx, grpcClient{}, r.srv.RecordClient())
}

func (recordGRPC) HandleConn(context.Context, stats.ConnStats) {}

func (recordGRPC) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (r recordGRPC) HandleRPC(ctx context.Context, s stats.RPCStats) {
	in, ok := s.(*stats.InPayload)
	if !ok {
		return
	}
	rec := server.Recorded{Via: "grpc", Found: -1}
	rec.Client, _ = ctx.Value(grpcClient{}).(uint32)
	var collection string
	var valid bool
	payload := api.Payload(in.Payload)
	if m, ok := payload.(*catfishv1.SearchManyRequest); ok {
		r.searches(m, rec)
		return
	}
	switch m := payload.(type) {
	case *catfishv1.SearchRequest:
		rec.Kind, rec.Limit, collection = server.RecordSearch, m.GetLimit(), m.GetCollection()
		rec.Rect, valid = recordRect(m.GetQuery())
	case *catfishv1.CountRequest:
		rec.Kind, collection = server.RecordCount, m.GetCollection()
		rec.Rect, valid = recordRect(m.GetQuery())
	case *catfishv1.NearestRequest:
		rec.Kind, rec.Limit, collection = server.RecordNearest, m.GetK(), m.GetCollection()
		rec.X, rec.Y, rec.Within = m.GetX(), m.GetY(), math.Inf(1)
		if m.MaxDistance != nil {
			rec.Within = m.GetMaxDistance()
		}
		point := rstar.Rect{MinX: rec.X, MinY: rec.Y, MaxX: rec.X, MaxY: rec.Y}
		valid = point.Validate() == nil && rec.Within >= 0 && (rec.Limit > 0 || m.MaxDistance != nil)
	case *catfishv1.InsertRequest:
		rec.Kind, rec.ID, collection = server.RecordInsert, m.GetItem().GetId(), m.GetCollection()
		rec.Rect, valid = recordRect(m.GetItem().GetRect())
	case *catfishv1.DeleteRequest:
		rec.Kind, rec.ID, collection = server.RecordDelete, m.GetItem().GetId(), m.GetCollection()
		rec.Rect, valid = recordRect(m.GetItem().GetRect())
	case *catfishv1.UpdateRequest:
		rec.Kind, rec.ID, collection = server.RecordUpdate, m.GetId(), m.GetCollection()
		rec.Rect, valid = recordRect(m.GetOldRect())
		if valid {
			rec.To, valid = recordRect(m.GetNewRect())
		}
	}
	if !valid {
		return // Another call, or one that the server will refuse.
	}
	r.record(collection, rec)
}

func (r recordGRPC) record(collection string, rec server.Recorded) {
	if collection == "" {
		collection = model.DefaultCollection
	}
	r.srv.RecordFrom(collection, rec)
}

// searches records each search of a SearchMany, unless the server will refuse it.
func (r recordGRPC) searches(m *catfishv1.SearchManyRequest, rec server.Recorded) {
	rec.Kind = server.RecordSearch
	if len(m.GetQueries()) > api.MaxQueries {
		return
	}
	for _, q := range m.GetQueries() {
		if _, valid := recordRect(q); !valid {
			return
		}
	}
	for _, q := range m.GetQueries() {
		rec.Rect, _ = recordRect(q)
		r.record(m.GetCollection(), rec)
	}
}

// recordRect returns a rectangle, and whether the service accepts it.
func recordRect(m *catfishv1.Rect) (rstar.Rect, bool) {
	r := rstar.Rect{MinX: m.GetMinX(), MinY: m.GetMinY(), MaxX: m.GetMaxX(), MaxY: m.GetMaxY()}
	return r, m != nil && r.Validate() == nil
}
