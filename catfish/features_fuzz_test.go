package catfish

import (
	"bufio"
	"errors"
	"net"
	"reflect"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/feature/filter/cel"
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
		kindNear: {}, kindFind: {}, kindCountFeatures: {}, kindEraseWhere: {},
		kindStore: {
			(&stored{id: "a", value: value}).append(appendHead(nil, 1, 1)),
			(&stored{id: "b", value: value, cond: ifAbsent, expiry: 1}).append((&stored{id: "a", value: value}).append(appendHead(nil, 1, 2))),
			(&stored{id: "c", value: []byte{2, 0, 0, 0}, cond: putParts}).append(appendHead(nil, 1, 1)),
		},
		kindErase: {appendText(appendRevision(appendHead(nil, 1, 0), 0), "a")},
		kindPatch: {append(appendText(appendRevision(appendHead(nil, 1, 0), 0), "a"), `{"n":null,"m":{"k":[1]}}`...)},
		kindPart:  {append(appendPart(appendHead(nil, 1, 2), 0, len(value)), value...)},
	}
	options, err := appendFeaturesOptions(nil, FeaturesOptions{Space: feature.Planar, Title: "x"})
	if err != nil {
		f.Fatal(err)
	}
	all[kindCreateFeatures] = [][]byte{append(options, "more"...)}
	for _, q := range []store.Query{
		{},
		{Area: query.Box(170, -10, -170, 10), Limit: 3, Order: query.ByID, After: "a"},
		{Area: query.Circle(1, 2, 1e5), Filter: "properties.n > 0", Relation: feature.Within},
		{Area: query.Polygon(orb.MultiPolygon{{{{0, 0}, {3, 0}, {3, 2}, {0, 0}}}}), Relation: feature.Contains},
	} {
		for _, kind := range []fastmsg.Kind{kindFind, kindCountFeatures, kindEraseWhere} {
			b, err := appendFindQuery(appendHead(nil, 1, 0), &q, feature.Geographic)
			if err != nil {
				f.Fatal(err)
			}
			all[kind] = append(all[kind], b)
		}
	}
	near, err := appendNear(appendHead(nil, 1, 3), &store.NearestQuery{X: 179, Y: 1, Within: 1e6, Filter: "id != 'a'"})
	if err != nil {
		f.Fatal(err)
	}
	all[kindNear] = append(all[kindNear], near)
	return all
}

// FuzzFeatureService: a message about features with any content is answered, later or
// at once, and leaves the server intact.
func FuzzFeatureService(f *testing.F) {
	s, err := NewServer(ServerOptions{
		SlabBytes: 4 << 20, Features: map[string]FeaturesOptions{testFeatures: {}}, Transports: []string{TransportSoft}, Logger: quiet(),
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
		if fastmsg.Kind(kind) == kindBackup {
			return // A backup writes to disk.
		}
		c, end := net.Pipe()
		defer c.Close()
		a := newSocketAnswers(end, newPacedWriter(end), nil)
		defer a.end(false)
		v := service{s: s, transport: TransportSoft, uploads: &uploadSet{}}
		defer v.uploads.close(&s.uploads)
		begun := append(appendPart(appendHead(nil, 1, 2), 0, len(value)), value...)
		if k, ans, _ := v.process(kindPart, begun); k != kindReply {
			t.Fatal(getFailure(ans))
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
			if k, _, ans, err = readFrame(bufio.NewReader(c), nil, maxReply); err != nil {
				t.Fatalf("kind %d, payload %x: no answer: %v", kind, payload, err)
			}
		} else if rest != nil || k == 0 {
			return
		}
		switch k {
		case kindReply:
		case kindFailure:
			if err := getFailure(ans); err == nil || errors.Is(err, ErrServer) {
				t.Fatalf("kind %d, payload %x: %v", kind, payload, err)
			}
		default:
			t.Fatalf("answer of kind %d", k)
		}
	})
}

// FuzzFeatureAnswers: a client takes any answer about features without panic, and a
// server any query. Both decode what was encoded.
func FuzzFeatureAnswers(f *testing.F) {
	found := store.Found{ID: []byte("a"), Value: fuzzPlace(f), Revision: 3}
	f.Add(appendFeature([]byte{1}, &found))
	f.Add((&openFeatures{nodeBytes: 704}).append(nil))
	f.Add(appendRevision(nil, 5))
	f.Add(append([]byte{0, 0, 0, 0, 0, 0, 0, 0, 11, 0, 0, 0}, appendFailure(nil, errors.New("x"), 0)...))
	for _, all := range featureRequests(f) {
		for _, p := range all {
			f.Add(p[min(headBytes, len(p)):])
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == openFeaturesBytes {
			if o, err := getOpenFeatures(b); err == nil && o.nodeBytes > maxNode {
				t.Fatalf("%+v", o)
			}
		}
		for _, kind := range []fastmsg.Kind{kindFind, kindNear, kindCountFeatures} {
			g := &findQuery{kind: kind}
			if err := g.take(b); err != nil {
				continue
			}
			bytes := 0
			for i := range g.found {
				bytes += len(g.found[i].Value) + len(g.found[i].ID)
				g.found[i].View.Geometry()
				_ = g.found[i].Feature()
			}
			if bytes > len(b) {
				t.Fatal("more than there was")
			}
		}
		_ = takeResults(b, len(b)%2 == 0, make([]PutResult, 3))
		if rest := b; len(rest) > 0 {
			for err := error(nil); err == nil && len(rest) > 0; _, rest, err = getStored(rest) {
			}
		}
		_, _, _ = getFeaturesOptions(b)
		_, _ = getNear(3, b)
		q, err := getFindQuery(b)
		if err != nil {
			return
		}
		if _, err := q.Prepare(feature.Geographic, cel.NewCache(1)); err != nil {
			return
		}
		again, err := appendFindQuery(nil, &q, feature.Geographic)
		if err != nil {
			t.Fatalf("%+v was taken, and cannot be sent: %v", q, err)
		}
		if p, err := getFindQuery(again); err != nil || q.Area == nil && !reflect.DeepEqual(p, q) {
			t.Fatalf("%+v became %+v, %v", q, p, err)
		}
	})
}
