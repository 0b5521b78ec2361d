package whole

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/rstar"
)

func valueOf(t testing.TB, g orb.Geometry) []byte {
	t.Helper()
	b, err := feature.Append(nil, g, []byte(`{"n":1}`))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is sent comes as it was.
func TestBytes(t *testing.T) {
	f := store.Found{ID: []byte("a"), Value: valueOf(t, orb.Point{1, 2}), Revision: 1 << 60, Expiry: 3, Now: 4, Distance: math.Pi}
	if err := f.Open(); err != nil {
		t.Fatal(err)
	}
	got, tag, err := getFound(appendFound(nil, &f, -1))
	if err != nil || tag != -1 || !reflect.DeepEqual(got, f) {
		t.Errorf("%+v, %d, %v, want %+v", got, tag, err, f)
	}
	p := put{EncodedFeature: store.EncodedFeature{ID: "b", Value: f.Value, Expires: 7}}
	for _, c := range []kv.Condition{{IfRevision: 5}, {IfAbsent: true}, {IfPresent: true}} {
		p.cond = c
		if got, err := getPut(appendPut(nil, &p)); err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%+v, %v, want %+v", got, err, p)
		}
	}
	for _, e := range []store.Event{
		{Kind: query.Enter, Name: "here", ID: "a", Revision: 9, Resume: 8, New: &f}, {Kind: query.Exit, Why: query.Deleted, ID: "a", Revision: 9, Old: &f},
		{Kind: query.Inside, ID: "a", New: &f, Old: &f},
	} {
		for _, failed := range []error{nil, errors.New("no time")} {
			got, why, err := getEvent(appendEvent(nil, &e, failed))
			if err != nil || !reflect.DeepEqual(got, e) || fmt.Sprint(why) != fmt.Sprint(failed) {
				t.Errorf("%+v, %v, %v, want %+v, %v", got, why, err, e, failed)
			}
		}
	}
}

// What a search of boxes gives comes as it was, and bytes that are no boxes are an error.
func TestBoxesAsBytes(t *testing.T) {
	boxes := []FoundBox{
		{rstar.Item{Rect: rstar.Rect{MinX: -1, MinY: -2, MaxX: 3, MaxY: 4}, ID: 5}, 6, 7},
		{rstar.Item{Rect: rstar.Rect{MinX: math.SmallestNonzeroFloat64, MaxX: math.MaxFloat64}, ID: math.MaxUint64}, math.MaxUint32, 0.5},
	}
	b := appendBoxes(nil, boxes)
	if got, err := getBoxes(b); err != nil || !reflect.DeepEqual(got, boxes) {
		t.Errorf("%+v, %v, want %+v", got, err, boxes)
	}
	bad := slices.Clone(b)
	binary.LittleEndian.PutUint64(bad, math.Float64bits(math.NaN()))
	for _, b := range [][]byte{b[:len(b)-1], bad} {
		if got, err := getBoxes(b); !errors.Is(err, fault.ErrProtocol) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	for _, r := range []request{
		{Op: opFindBoxes}, {Op: opFindBoxes, Box: &boxText{}}, {Op: opCountBoxes, Box: &boxText{}}, {Op: opWriteBoxes, Box: &boxText{}},
		{Op: opWriteBoxes, Box: &boxText{Old: &boxes[0].Item, Items: make([]rstar.Item, 2)}},
	} {
		if err := r.check(); !errors.Is(err, fault.ErrProtocol) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// An event without a feature, and a number below zero, are errors.
func TestImpossibleAnswers(t *testing.T) {
	if e, _, err := getEvent(appendEvent(nil, &store.Event{Kind: query.Enter, ID: "a"}, nil)); !errors.Is(err, errFormat) {
		t.Errorf("%+v, %v", e, err)
	}
	if a, err := getAnswer(frameAnswer, []byte(`{"N":-1}`)); !errors.Is(err, errFormat) {
		t.Errorf("%+v, %v", a, err)
	}
}

// Bytes that no member has sent are an error.
func FuzzBytes(f *testing.F) {
	g := store.Found{ID: []byte("a"), Value: valueOf(f, orb.LineString{{1, 2}, {3, 4}})}
	if err := g.Open(); err != nil {
		f.Fatal(err)
	}
	f.Add(appendFound(nil, &g, 1))
	f.Add(appendEvent(nil, &store.Event{Name: "x", ID: "a", New: &g, Old: &g}, errors.New("e")))
	f.Add(appendPut(nil, &put{EncodedFeature: store.EncodedFeature{ID: "a", Value: g.Value}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if g, tag, err := getFound(b); err == nil && !bytes.Equal(appendFound(nil, &g, tag), b) {
			t.Errorf("a feature of %q is another one", b)
		}
		if p, err := getPut(b); err == nil && len(appendPut(nil, &p)) != len(b) {
			t.Errorf("a put of %q is another one", b)
		}
		if e, failed, err := getEvent(b); err == nil && e.New != nil {
			if _, _, err := getEvent(appendEvent(nil, &e, failed)); err != nil {
				t.Error(err)
			}
		}
		if found, err := getBoxes(b); err == nil && !bytes.Equal(appendBoxes(nil, found), b) {
			t.Errorf("boxes of %q are other ones", b)
		}
		kind, body, err := readFrame(bytes.NewReader(b), nil)
		if err == nil {
			_, _ = getAnswer(kind, body)
		}
		_, _ = readRequest(bytes.NewReader(b), nil)
	})
}

// stringer is a source.
type stringer string

func (s stringer) String() string { return string(s) }

// A query decides in another process as in its own.
func TestQueries(t *testing.T) {
	program := func(source string) (*filter.Program, error) {
		var tree filter.Tree
		return tree.Program(source, tree.Constant(source == "yes")).From(stringer(source)), nil
	}
	yes, _ := program("yes")
	no, _ := program("no")
	ring := orb.Polygon{{{0, 0}, {4, 0}, {4, 4}, {0, 4}, {0, 0}}}
	for _, q := range []store.Query{
		{}, {Area: query.Box(170, -1, -170, 1), Nowhere: true}, {Area: query.Circle(1, 2, 1000)}, {Area: query.Polygon(ring), Relation: feature.Within},
		{Where: yes}, {Where: no}, {Where: yes.And(no)}, {Where: yes.And(yes), Limit: 3, After: "x", Fields: feature.Selection{Fields: []string{"n"}}},
	} {
		text, err := textOf(&q, feature.Geographic)
		if err != nil {
			t.Fatal(err)
		}
		got, err := text.query(program)
		if err != nil {
			t.Fatal(err)
		}
		q.Order, got.Order = query.ByID, query.ByID
		mine, err := q.Prepare(feature.Geographic, nil)
		if err != nil {
			t.Fatal(err)
		}
		other, err := got.Prepare(feature.Geographic, nil)
		if err != nil {
			t.Fatal(err)
		}
		if q.Limit != got.Limit || q.After != got.After || !reflect.DeepEqual(q.Fields, got.Fields) {
			t.Errorf("%+v, want %+v", got, q)
		}
		for _, p := range []orb.Geometry{orb.Point{1, 2}, orb.Point{179, 0}, orb.Point{3, 3}, ring, nil} {
			f := store.Found{ID: []byte("a"), Value: valueOf(t, p)}
			if err := f.Open(); err != nil {
				t.Fatal(err)
			}
			want, err := mine.Match(&f)
			is, e := other.Match(&f)
			if err != nil || e != nil || is != want {
				t.Errorf("%+v of %v: %v %v, want %v %v", q, p, is, e, want, err)
			}
		}
	}
	if _, err := textOf(&store.Query{Where: filter.New("x", 0, nil)}, feature.Geographic); !errors.Is(err, fault.ErrSeveralGroups) {
		t.Errorf("a condition without a source: %v", err)
	}
}
