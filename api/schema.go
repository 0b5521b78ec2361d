package api

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/store"
)

const (
	// sampleFeatures and sampleBytes bound what Describe looks at: 10 ms.
	sampleFeatures = 1000
	sampleBytes    = 1 << 20
	// sampleNames and sampleNameBytes bound what it tells.
	sampleNames     = 1000
	sampleNameBytes = 256
)

// schema is what was seen of properties.
type schema map[string]*catfishv1.PropertySchema

// sample looks at the first features by id.
func sample(ctx context.Context, c FeatureCollection, p *pacer, res *catfishv1.CollectionServiceDescribeResponse) error {
	s, types := schema{}, map[string]bool{}
	var n, bytes int
	method := "all"
	q, err := c.Prepare(store.Query{Order: store.ByID, Pace: p.pace})
	if err != nil {
		return err
	}
	err = search(ctx, c, q, func(f *store.Found) (bool, error) {
		if n == sampleFeatures || bytes >= sampleBytes {
			method = "first by id"
			return false, nil
		}
		n++
		bytes += len(f.View.Properties())
		types[f.View.Type().String()] = true
		s.add(f.View.Properties())
		return true, nil
	})
	if err != nil {
		return err
	}
	res.Sample = &catfishv1.Sample{Features: uint64(n), Method: method}
	res.GeometryTypes = slices.Sorted(maps.Keys(types))
	for _, name := range slices.Sorted(maps.Keys(s)) {
		res.Properties = append(res.Properties, s[name])
	}
	return nil
}

// add counts the members of an object. What is no object has none.
func (s schema) add(properties []byte) {
	var members map[string]json.RawMessage
	if len(properties) == 0 || json.Unmarshal(properties, &members) != nil {
		return
	}
	for name, value := range members {
		name = clip(name, sampleNameBytes)
		p := s[name]
		if p == nil {
			if len(s) == sampleNames {
				continue
			}
			p = &catfishv1.PropertySchema{Name: name}
			s[name] = p
		}
		p.Features++
		t := typeOfJSON(value)
		if i, ok := slices.BinarySearch(p.Types, t); !ok {
			p.Types = slices.Insert(p.Types, i, t)
		}
	}
}

func typeOfJSON(v json.RawMessage) catfishv1.PropertyType {
	switch v[0] {
	case 'n':
		return catfishv1.PropertyType_PROPERTY_TYPE_NULL
	case 't', 'f':
		return catfishv1.PropertyType_PROPERTY_TYPE_BOOLEAN
	case '"':
		return catfishv1.PropertyType_PROPERTY_TYPE_STRING
	case '[':
		return catfishv1.PropertyType_PROPERTY_TYPE_ARRAY
	case '{':
		return catfishv1.PropertyType_PROPERTY_TYPE_OBJECT
	}
	return catfishv1.PropertyType_PROPERTY_TYPE_NUMBER
}
