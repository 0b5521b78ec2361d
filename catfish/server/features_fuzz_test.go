package server

import (
	"bufio"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/query"
)

// fuzzPlace is a feature's bytes.
func fuzzPlace(f testing.TB) []byte {
	value, err := feature.Append(nil, orb.Polygon{{{0, 0}, {3, 0}, {3, 2}, {0, 0}}}, []byte(`{"n":1}`))
	if err != nil {
		f.Fatal(err)
	}
	return value
}

// featureRequests is requests of each kind, to collection 1.
func featureRequests(f testing.TB) map[fastmsg.Kind][][]byte {
	value := fuzzPlace(f)
	all := map[fastmsg.Kind][][]byte{
		wire.KindNear: {}, wire.KindFind: {}, wire.KindCountFeatures: {}, wire.KindEraseWhere: {},
		wire.KindStore: {
			(&wire.Stored{Id: "a", Value: value}).Append(wire.AppendHead(nil, 1, 1)),
			(&wire.Stored{Id: "b", Value: value, Cond: wire.IfAbsent, Expiry: 1}).Append((&wire.Stored{Id: "a", Value: value}).Append(wire.AppendHead(nil, 1, 2))),
			(&wire.Stored{Id: "c", Value: []byte{2, 0, 0, 0}, Cond: wire.PutParts}).Append(wire.AppendHead(nil, 1, 1)),
		},
		wire.KindErase: {wire.AppendText(wire.AppendRevision(wire.AppendHead(nil, 1, 0), 0), "a")},
		wire.KindPatch: {append(wire.AppendText(wire.AppendRevision(wire.AppendHead(nil, 1, 0), 0), "a"), `{"n":null,"m":{"k":[1]}}`...)},
		wire.KindPart:  {append(wire.AppendPart(wire.AppendHead(nil, 1, 2), 0, len(value)), value...)},
	}
	options, err := wire.AppendFeaturesOptions(nil, model.FeaturesOptions{Space: feature.Planar, Title: "x"})
	if err != nil {
		f.Fatal(err)
	}
	all[wire.KindCreateFeatures] = [][]byte{append(options, "more"...)}
	for _, q := range []store.Query{
		{},
		{Area: query.Box(170, -10, -170, 10), Limit: 3, Order: query.ByID, After: "a"},
		{Area: query.Circle(1, 2, 1e5), Filter: "properties.n > 0", Relation: feature.Within},
		{Area: query.Polygon(orb.MultiPolygon{{{{0, 0}, {3, 0}, {3, 2}, {0, 0}}}}), Relation: feature.Contains},
	} {
		for _, kind := range []fastmsg.Kind{wire.KindFind, wire.KindCountFeatures, wire.KindEraseWhere} {
			b, err := wire.AppendFindQuery(wire.AppendHead(nil, 1, 0), &q, feature.Geographic)
			if err != nil {
				f.Fatal(err)
			}
			all[kind] = append(all[kind], b)
		}
	}
	near, err := wire.AppendNear(wire.AppendHead(nil, 1, 3), &store.NearestQuery{X: 179, Y: 1, Within: 1e6, Filter: "id != 'a'"})
	if err != nil {
		f.Fatal(err)
	}
	all[wire.KindNear] = append(all[wire.KindNear], near)
	return all
}

// FuzzFeatureService: a message about features with any content is answered, later or
// at once, and leaves the server intact.
func FuzzFeatureService(f *testing.F) {
	s, err := NewServer(Options{
		SlabBytes: 4 << 20, Features: map[string]model.FeaturesOptions{testFeatures: {}}, Transports: []string{model.TransportSoft}, Logger: quiet(),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	value := fuzzPlace(f)
	for kind, all := range featureRequests(f) {
		for _, p := range all {
			f.Add(byte(kind), p)
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, payload []byte) {
		if fastmsg.Kind(kind) == wire.KindBackup {
			return // A backup writes to disk.
		}
		c, end := net.Pipe()
		defer c.Close()
		a := newSocketAnswers(end, newPacedWriter(end), nil)
		defer a.end(false)
		v := service{s: s, transport: model.TransportSoft, uploads: &uploadSet{}}
		defer v.uploads.close(&s.uploads)
		begun := append(wire.AppendPart(wire.AppendHead(nil, 1, 2), 0, len(value)), value...)
		if k, ans, _ := v.process(wire.KindPart, begun); k != wire.KindReply {
			t.Fatal(wire.GetFailure(ans))
		}
		k, ans, rest := v.process(fastmsg.Kind(kind), payload)
		if rest != nil && rest.scan != nil {
			rest.scan.Close()
		}
		if p := v.takePending(); p != nil {
			l, err := a.later(1, p.keeps())
			if err != nil {
				t.Fatal(err)
			}
			p.begin(lateAnswer{socket: l})
			_ = c.SetReadDeadline(time.Now().Add(time.Minute))
			if k, _, ans, err = wire.ReadFrame(bufio.NewReader(c), nil, wire.MaxReply); err != nil {
				t.Fatalf("kind %d, payload %x: no answer: %v", kind, payload, err)
			}
		} else if rest != nil || k == 0 {
			return
		}
		switch k {
		case wire.KindReply:
		case wire.KindFailure:
			if err := wire.GetFailure(ans); err == nil || errors.Is(err, model.ErrServer) {
				t.Fatalf("kind %d, payload %x: %v", kind, payload, err)
			}
		default:
			t.Fatalf("answer of kind %d", k)
		}
	})
}
