package kv

import (
	"reflect"
	"testing"
)

// fill sets all fields, also those of nested structs, to values of f.
func fill(v reflect.Value, f func() uint64) {
	for i := range v.NumField() {
		switch x := v.Field(i); x.Kind() {
		case reflect.Struct:
			fill(x, f)
		case reflect.Bool:
			x.SetBool(f() > 0)
		case reflect.Int:
			x.SetInt(int64(f()))
		default:
			x.SetUint(f())
		}
	}
}

// Stats.Add forgets no field: statistics added to zero ones stay the same, and each
// field added to itself grows, or is one that is no sum.
func TestStatsAdd(t *testing.T) {
	n := uint64(0)
	var s, sum Stats
	fill(reflect.ValueOf(&s).Elem(), func() uint64 { n++; return n })
	if sum.Add(s); sum != s {
		t.Errorf("%+v, want %+v", sum, s)
	}
	sum.Add(s)
	kept := 0
	want := s
	fill(reflect.ValueOf(&want).Elem(), func() uint64 { kept++; return 2 * uint64(kept) })
	for _, x := range []*Stats{&sum, &want} { // These fields are no sums.
		x.Revision, x.Index.Growing, x.Index.FirstStash = 0, false, 0
		x.Index.LongestKick, x.Index.StashMost, x.Index.LongestLink = 0, 0, 0
	}
	if sum != want {
		t.Errorf("%+v, want %+v", sum, want)
	}
	a, b := Stats{Revision: 5}, Stats{Revision: 3}
	a.Index.LongestKick, b.Index.LongestKick = 1, 4
	b.Index.FirstStash = 7
	if a.Add(b); a.Revision != 5 || a.Index.LongestKick != 4 || a.Index.FirstStash != 7 {
		t.Errorf("%+v", a)
	}
}
