package catfishtest

import (
	"encoding/binary"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
)

// FeatureRequests is requests of each kind, to collection 1.
func FeatureRequests(f testing.TB) map[fastmsg.Kind][][]byte {
	value := FuzzPlace(f)
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
	for _, q := range []query.Query{
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
	near, err := wire.AppendNear(wire.AppendHead(nil, 1, 3), &query.NearestQuery{X: 179, Y: 1, Within: 1e6, Filter: "id != 'a'"})
	if err != nil {
		f.Fatal(err)
	}
	all[wire.KindNear] = append(all[wire.KindNear], near)
	return all
}

// FuzzPlace is a feature's bytes.
func FuzzPlace(f testing.TB) []byte {
	value, err := feature.Append(nil, orb.Polygon{{{0, 0}, {3, 0}, {3, 2}, {0, 0}}}, []byte(`{"n":1}`))
	if err != nil {
		f.Fatal(err)
	}
	return value
}

// PartOf is a well-formed part of upload number of collection 1.
func PartOf(number uint32, at, of int, b []byte) []byte {
	return append(wire.AppendPart(wire.AppendHead(nil, 1, number), at, of), b...)
}

// PutUpload puts upload number under the key "k".
func PutUpload(number uint32) []byte {
	b := wire.AppendPut(wire.AppendRevision(wire.AppendHead(nil, 1, wire.PutParts), 0), 0, 0, []byte("k"))
	return binary.LittleEndian.AppendUint32(b, number)
}
