package cli

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/stats"

	"github.com/catfish-index/catfish/api"
	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/rstar"
)

// recordFlags are the flags of 'serve' that record its requests.
func recordFlags(c *cobra.Command, o *catfish.RecordOptions) {
	fs := c.Flags()
	fs.StringVar(&o.File, "record", "",
		"record the searches of boxes that reach the server in this file, for 'replay'; offloaded ones do not reach it")
	fs.BoolVar(&o.Writes, "record-writes", false, "record inserts, deletes and updates, too")
	fs.BoolVar(&o.Force, "record-force", false, "overwrite the file of --record if it exists")
}

// checkRecord refuses flags that would do nothing.
func checkRecord(o catfish.RecordOptions) error {
	if o.File == "" && (o.Writes || o.Force) {
		return BadUsage("--record-writes and --record-force go with --record FILE")
	}
	return nil
}

// endRecord closes the server, and prints what was recorded, and what was not.
func (a *App) endRecord(srv *catfish.Server) error {
	err := srv.Close()
	fmt.Fprintf(a.Err, "%s recorded %s\n", logTime(time.Now()), recordText(*srv.Recording()))
	return err
}

func recordText(r catfish.RecordStats) string {
	what := "searches"
	if r.Writes {
		what = "searches and writes"
	}
	text := fmt.Sprintf("%s: %d %s, %d bytes", r.File, r.Records, what, r.Bytes)
	if r.Dropped > 0 {
		text += fmt.Sprintf("; %d MISSING, the writer did not keep up or had ended", r.Dropped)
	}
	if r.Error != "" {
		text += "; ENDED: " + r.Error
	}
	return text
}

// recordGRPC records the requests of gRPC as they arrive, before their results
// are known. Each connection is a client.
type recordGRPC struct{ srv *catfish.Server }

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
	rec := catfish.Recorded{Via: "grpc", Found: -1}
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
		rec.Kind, rec.Limit, collection = catfish.RecordSearch, m.GetLimit(), m.GetCollection()
		rec.Rect, valid = recordRect(m.GetQuery())
	case *catfishv1.CountRequest:
		rec.Kind, collection = catfish.RecordCount, m.GetCollection()
		rec.Rect, valid = recordRect(m.GetQuery())
	case *catfishv1.NearestRequest:
		rec.Kind, rec.Limit, collection = catfish.RecordNearest, m.GetK(), m.GetCollection()
		rec.X, rec.Y, rec.Within = m.GetX(), m.GetY(), math.Inf(1)
		if m.MaxDistance != nil {
			rec.Within = m.GetMaxDistance()
		}
		point := rstar.Rect{MinX: rec.X, MinY: rec.Y, MaxX: rec.X, MaxY: rec.Y}
		valid = point.Validate() == nil && rec.Within >= 0 && (rec.Limit > 0 || m.MaxDistance != nil)
	case *catfishv1.InsertRequest:
		rec.Kind, rec.ID, collection = catfish.RecordInsert, m.GetItem().GetId(), m.GetCollection()
		rec.Rect, valid = recordRect(m.GetItem().GetRect())
	case *catfishv1.DeleteRequest:
		rec.Kind, rec.ID, collection = catfish.RecordDelete, m.GetItem().GetId(), m.GetCollection()
		rec.Rect, valid = recordRect(m.GetItem().GetRect())
	case *catfishv1.UpdateRequest:
		rec.Kind, rec.ID, collection = catfish.RecordUpdate, m.GetId(), m.GetCollection()
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

func (r recordGRPC) record(collection string, rec catfish.Recorded) {
	if collection == "" {
		collection = catfish.DefaultCollection
	}
	r.srv.RecordFrom(collection, rec)
}

// searches records each search of a SearchMany, unless the server will refuse it.
func (r recordGRPC) searches(m *catfishv1.SearchManyRequest, rec catfish.Recorded) {
	rec.Kind = catfish.RecordSearch
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
