package store

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/catfish-index/catfish/internal/feature"
)

// What a collection's features look like
//
// A schema counts types of geometries, and for each name of a property the types of
// its values. The commit leader updates it with each write: the old state is taken off,
// and the new one added, so that counts are exact, and a name that no feature has any
// more is removed. A write that changes neither properties nor type of geometry, as
// most moves are, costs a comparison.
//
// It knows up to maxNames names. After another one was met, no name is added any
// more, so that the counts of known names stay exact: features before may have had a
// later name, and were not counted for it. A restart counts again.
type schema struct {
	mu     sync.Mutex
	types  [feature.GeometryCollection + 1]int64
	names  map[string]*jsonTypes
	nulls  int64 // features whose properties are null
	full   bool  // a name was met for which there was no place
	unkept bool  // one was longer than maxNameBytes
}

type jsonTypes [feature.JSONTypes]int64

const (
	// maxNames and maxNameBytes bound a schema to 0.4 MB.
	maxNames     = 1000
	maxNameBytes = 256
)

// alike reports whether features look the same to a schema.
func alike(a, b *feature.View) bool {
	return a.Type() == b.Type() && bytes.Equal(a.Properties(), b.Properties())
}

// change counts the old state off, nil: none, and the new one.
func (s *schema) change(old, now *feature.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// First what is new: a name that stays is not dropped in between.
	if now != nil {
		s.add(now)
	}
	if old != nil {
		s.remove(old)
	}
}

func (s *schema) add(v *feature.View) {
	s.types[v.Type()]++
	if v.Properties() == nil {
		s.nulls++
	}
	v.Members(func(name []byte, t feature.JSONType) {
		n := s.names[string(name)]
		if n == nil {
			if n = s.keep(name); n == nil {
				return
			}
		}
		n[t]++
	})
}

// keep makes a place for a name, if there may be one.
func (s *schema) keep(name []byte) *jsonTypes {
	switch {
	case len(name) > maxNameBytes:
		s.unkept = true
		return nil
	case s.full || len(s.names) == maxNames:
		s.full = true
		return nil
	case s.names == nil:
		s.names = map[string]*jsonTypes{}
	}
	n := new(jsonTypes)
	s.names[string(name)] = n
	return n
}

func (s *schema) remove(v *feature.View) {
	s.types[v.Type()]--
	if v.Properties() == nil {
		s.nulls--
	}
	v.Members(func(name []byte, t feature.JSONType) {
		n := s.names[string(name)]
		if n == nil {
			return
		}
		// While full, a name that is forgotten could not come back.
		if n[t]--; *n == (jsonTypes{}) && !s.full {
			delete(s.names, string(name))
		}
	})
}

// join makes s the schema of disjoint sets of features, of which each part has counted
// one. A name that a part could not count is not kept.
func (s *schema) join(parts []schema) {
	for i := range parts {
		p := &parts[i]
		s.full, s.unkept = s.full || p.full, s.unkept || p.unkept
		s.nulls += p.nulls
		for t, n := range p.types {
			s.types[t] += n
		}
	}
	s.names = map[string]*jsonTypes{}
	for i := range parts {
		for name := range parts[i].names {
			sum, ok := total(parts, name)
			switch {
			case !ok || s.names[name] != nil:
			case len(s.names) == maxNames:
				s.full = true
			default:
				s.names[name] = sum
			}
		}
	}
}

func total(parts []schema, name string) (sum *jsonTypes, ok bool) {
	sum = new(jsonTypes)
	for i := range parts {
		n := parts[i].names[name]
		if n == nil && parts[i].full {
			return nil, false
		}
		for t := range sum {
			if n != nil {
				sum[t] += n[t]
			}
		}
	}
	return sum, true
}

// describe sets what d says of features.
func (s *schema) describe(d *Description) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t, n := range s.types {
		if n > 0 {
			d.Geometries = append(d.Geometries, GeometryCount{Type: feature.Type(t).String(), Features: int(n)})
		}
	}
	slices.SortFunc(d.Geometries, func(a, b GeometryCount) int { return cmp.Compare(a.Type, b.Type) })
	for name, types := range maps.All(s.names) {
		p := PropertySchema{Name: name, Types: map[string]int{}}
		for t, n := range types {
			if n > 0 {
				p.Features += int(n)
				p.Types[feature.JSONType(t).String()] = int(n)
			}
		}
		if p.Features > 0 {
			d.Properties = append(d.Properties, p)
		}
	}
	slices.SortFunc(d.Properties, func(a, b PropertySchema) int { return cmp.Compare(a.Name, b.Name) })
	d.MoreProperties, d.NullProperties = s.full || s.unkept, int(s.nulls)
}
