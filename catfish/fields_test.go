package catfish

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/query"
)

// Only the selected fields come, by every path; and by message the answer is small.
func TestFields(t *testing.T) {
	s := startFeatures(t, ServerOptions{})
	first := dialFeatures(t, s, Options{Policy: "tcp"})
	long := strings.Repeat("x", 2000)
	for i := range 20 {
		f := Feature{ID: fmt.Sprint(i), Geometry: orb.Point{float64(i), 1}, Properties: json.RawMessage(fmt.Sprintf(`{"n":%d,"long":"%s"}`, i, long))}
		if _, _, err := first.Put(t.Context(), f, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	fields := FeatureFields{Fields: []string{"n"}, NoGeometry: true}
	for _, p := range kvPaths() {
		t.Run(p.name, func(t *testing.T) {
			o := p.options()
			o.keepYoung = true
			c := dial(t, s, o)
			f, err := c.Features(testFeatures)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			check := func(place Feature, err error) {
				t.Helper()
				n++
				if err != nil || place.Geometry != nil || string(place.Properties) != `{"n":`+place.ID+`}` || place.Revision == 0 {
					t.Fatalf("%+v, %v", place, err)
				}
			}
			for _, q := range []FeatureQuery{
				{Area: query.Box(-1, 0, 30, 2), Filter: `properties.long.startsWith("xx")`},
				{Area: query.Box(-1, 0, 30, 2), Order: query.ByID, Limit: 20},
				{},
			} {
				q.Fields = fields
				for place, err := range f.Search(t.Context(), q) {
					check(place, err)
				}
			}
			for place, err := range f.Nearest(t.Context(), NearestQuery{X: 3, Y: 1, K: 20, Fields: fields, Filter: `properties.long != ""`}) {
				check(place, err)
			}
			all, err := f.GetFields(t.Context(), []string{"3", "none", "7"}, fields)
			if err != nil || len(all) != 3 || all[1].ID != "" {
				t.Fatal(all, err)
			}
			check(all[0], nil)
			check(all[2], nil)
			if n != 82 {
				t.Errorf("%d features, want 82", n)
			}
			if st := c.Counters().BytesReceived; (p.policy == "tcp" || p.policy == "fast") && (st == 0 || st > 20_000) {
				t.Errorf("%d bytes by messages", st)
			}
			many := FeatureFields{Fields: make([]string, query.MaxFields+1)}
			if _, err := f.GetFields(t.Context(), []string{"3"}, many); !errors.Is(err, store.ErrQuery) {
				t.Error(err)
			}
		})
	}
}

// A description is the same by all paths.
func TestDescribe(t *testing.T) {
	s := startFeatures(t, ServerOptions{})
	first := dialFeatures(t, s, Options{Policy: "tcp"})
	for i, x := range []float64{179, -179} {
		f := Feature{ID: fmt.Sprint(i), Geometry: orb.Point{x, 1}, Properties: json.RawMessage(`{"n":1,"kind":"cafe"}`)}
		if _, _, err := first.Put(t.Context(), f, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	c, err := s.Features(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	want, err := c.Describe()
	if err != nil || want.Features != 2 || len(want.Properties) != 2 || want.Extent == nil || want.Extent[0] != 179 || want.Extent[2] != -179 {
		t.Fatalf("%+v, %v", want, err)
	}
	for _, p := range kvPaths() {
		t.Run(p.name, func(t *testing.T) {
			got, err := dialFeatures(t, s, p.options()).Describe(t.Context())
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, %v, want %+v", got, err, want)
			}
		})
	}
	if got, err := FeaturesOf(c).Describe(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	boxes := dial(t, s, Options{Policy: "tcp"})
	f, err := boxes.Features(DefaultCollection)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Describe(t.Context()); !errors.Is(err, ErrKind) {
		t.Error(err)
	}
	// An older server sends a shorter description, and whole features.
	c2 := dial(t, s, Options{Policy: "tcp"})
	c2.conn.sessions.latest().hello.Requests = kindWatch
	f, err = c2.Features(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := f.Describe(t.Context()); err != nil || d.Features != 2 || d.Name != testFeatures || d.Properties != nil {
		t.Errorf("%+v, %v", d, err)
	}
	n := 0
	for place, err := range f.Search(t.Context(), FeatureQuery{Area: query.Box(178, 0, -178, 2), Fields: FeatureFields{Fields: []string{"n"}}}) {
		if n++; err != nil || string(place.Properties) != `{"n":1}` {
			t.Errorf("%s, %v", place.Properties, err)
		}
	}
	if all, err := f.GetFields(t.Context(), []string{"0"}, FeatureFields{NoProperties: true}); err != nil || n != 2 || all[0].Properties != nil || all[0].Geometry == nil {
		t.Errorf("%d, %+v, %v", n, all, err)
	}
	if err := c2.SwapCollections(t.Context(), "a", "b"); !errors.Is(err, ErrVersionMismatch) {
		t.Error(err)
	}
}

// Malformed requests are errors, by every transport, and change nothing.
func TestHostileFields(t *testing.T) {
	s := startFeatures(t, ServerOptions{})
	c, err := s.colls.byName(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	head := func(arg uint32) []byte { return appendHead(nil, c.num, arg) }
	find := func(flags byte, rest ...byte) []byte {
		return append(append(append(head(0), 0, 0, 0, 0, 0, 0, noArea, flags), 0, 0, 0, 0), rest...)
	}
	for _, p := range []path{{transport: TransportTCP, policy: "tcp"}, {transport: TransportSHM}, {transport: TransportSoft}} {
		client := dial(t, s, p.options())
		for _, a := range []struct {
			kind    fastmsg.Kind
			payload []byte
			want    error
		}{
			{kindPick, nil, ErrProtocol},
			{kindPick, head(0), ErrProtocol},
			{kindPick, append(head(1), 0, 0), ErrProtocol},               // no fields
			{kindPick, append(head(1), 4, 0, 0), ErrProtocol},            // unknown flag
			{kindPick, append(head(1), 0, 0, 0), ErrProtocol},            // no id
			{kindPick, append(head(1), 0, 0xff, 0xff), ErrProtocol},      // too many fields
			{kindPick, append(head(1), 0, 2, 0, 1, 0, 'a'), ErrProtocol}, // one is missing
			{kindPick, append(head(1), 0, 0, 0, 9, 0, 'a'), ErrProtocol},
			{kindPick, append(head(1), 0, 0, 0, 1, 0, 'a', 'b'), ErrProtocol},
			{kindPick, append(head(math.MaxUint32), 0, 0, 0, 1, 0, 'a'), ErrProtocol},
			{kindPick, append(appendHead(nil, 0, 1), 0, 0, 0, 1, 0, 'a'), ErrKind},
			{kindPick, append(head(1), 3, 0, 0, 1, 0, 'a'), nil},
			{kindFind, find(withFields), ErrProtocol},
			{kindFind, find(withFields, 0, 1, 0), ErrProtocol},
			{kindFind, find(withFields, 3, 0, 0), nil},
			{kindFind, find(withFields, 3, 0, 0, 1), ErrProtocol},
			{kindNear, append(head(1|nearFields), make([]byte, 24)...), ErrProtocol},
			{kindNear, append(head(1|nearFields), make([]byte, 27)...), nil},
			{kindNear, append(head(query.MaxNearest+1|nearFields), make([]byte, 27)...), ErrProtocol},
			{kindDescribe, nil, ErrProtocol},
			{kindDescribe, appendHead(nil, 0, 0), ErrKind},
			{kindDescribe, appendHead(nil, 77, 0), ErrUnknownCollection},
			{kindSwap, nil, ErrProtocol},
			{kindSwap, []byte{255, 255, 'a'}, ErrProtocol},
			{kindSwap, append(appendText(appendText(nil, "a"), "b"), 0), ErrProtocol},
			{kindSwap, appendText(appendText(nil, "a"), "b"), ErrUnknownCollection},
			{kindSwap, appendText(appendText(nil, testFeatures), testFeatures), ErrProtocol},
		} {
			if _, err := client.conn.sessions.latest().call(t.Context(), a.kind, a.payload, nil); !errors.Is(err, a.want) {
				t.Errorf("%s: kind %d, payload %x: %v, want %v", p.transport, a.kind, a.payload, err, a.want)
			}
		}
	}
}
