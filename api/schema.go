package api

import (
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store"
)

// described converts a description to its message.
func described(d *store.Description, c *catfishv1.Collection) *catfishv1.CollectionServiceDescribeResponse {
	c.Count = uint64(d.Features)
	res := &catfishv1.CollectionServiceDescribeResponse{
		Collection: c, MoreProperties: d.MoreProperties, CreatedRevision: d.CreatedRevision, Revision: d.Revision,
		Sample: &catfishv1.Sample{Features: uint64(d.Features), Method: "all"},
	}
	if e := d.Extent; e != nil {
		res.Extent = &catfishv1.Box{West: e[0], South: e[1], East: e[2], North: e[3]}
	}
	if !d.Created.IsZero() {
		res.Created = timestamppb.New(d.Created)
	}
	for _, g := range d.Geometries {
		res.GeometryTypes = append(res.GeometryTypes, g.Type)
		res.GeometryCounts = append(res.GeometryCounts, uint64(g.Features))
	}
	for _, p := range d.Properties {
		s := &catfishv1.PropertySchema{Name: strings.ToValidUTF8(p.Name, "\uFFFD"), Features: uint64(p.Features)}
		for t := range feature.JSONType(feature.JSONTypes) {
			if n := p.Types[t.String()]; n > 0 {
				// In the same order, after UNSPECIFIED.
				s.Types = append(s.Types, catfishv1.PropertyType(t)+catfishv1.PropertyType_PROPERTY_TYPE_NULL)
				s.Counts = append(s.Counts, uint64(n))
			}
		}
		res.Properties = append(res.Properties, s)
	}
	return res
}
