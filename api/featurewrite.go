package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/paulmach/orb"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/whole"
)

// featureService implements catfish.v1.FeatureService; the calls are in the
// files feature*.go.
type featureService struct {
	catfishv1.UnimplementedFeatureServiceServer
	*features
}

// encoded is a feature as it is stored.
type encoded struct {
	id      string
	value   []byte
	expires int64
}

// encode checks a feature in a field of a request. Its error is a *fieldError.
func encode(c whole.Collection, field string, p *catfishv1.Feature) (e encoded, err error) {
	if p == nil {
		return e, &fieldError{field, ReasonBadField, errMissing}
	}
	if e.id = p.GetId(); e.id == "" {
		e.id = c.NewID()
	} else if err := feature.CheckID(e.id); err != nil {
		return e, &fieldError{field + ".id", ReasonBadField, err}
	}
	if e.expires, err = expiryOf(field+".expires", p); err != nil {
		return e, err
	}
	g, z, err := geometryOf(c.Options().Space, field, p)
	if err != nil {
		return e, err
	}
	properties, err := feature.CompactProperties([]byte(p.GetProperties()))
	if err != nil {
		return e, &fieldError{field + ".properties", ReasonBadProperties, err}
	}
	if e.value, err = feature.AppendZ(nil, g, z, properties); err != nil {
		return e, &fieldError{field, reasonOfFeature(err), err}
	}
	return e, nil
}

func geometryOf(space feature.Space, field string, p *catfishv1.Feature) (g orb.Geometry, altitudes []float64, err error) {
	switch p := p.GetGeometry().(type) {
	case *catfishv1.Feature_Geojson:
		field += ".geojson"
		g, altitudes, err = feature.DecodeGeometryZ([]byte(p.Geojson), feature.Options{Space: space})
	case *catfishv1.Feature_Wkb:
		field += ".wkb"
		if g, err = decodeWKB(p.Wkb); err == nil {
			g, err = feature.Normalise(g, feature.Options{Space: space})
		}
	}
	if err != nil {
		return nil, nil, &fieldError{field, reasonOfFeature(err), err}
	}
	return g, altitudes, nil
}

// expiryOf returns when a feature expires, in nanoseconds; 0: never.
func expiryOf(field string, p *catfishv1.Feature) (int64, error) {
	t := p.GetExpires()
	if t == nil {
		return 0, nil
	}
	if err := t.CheckValid(); err != nil {
		return 0, &fieldError{field, ReasonBadField, err}
	}
	if s := t.GetSeconds(); s < 0 || s >= math.MaxInt64/int64(time.Second) || s == 0 && t.GetNanos() == 0 {
		return 0, &fieldError{field, ReasonBadField,
			fmt.Errorf("is %v, want a time after 1970 and before 2262", t.AsTime())}
	}
	return t.AsTime().UnixNano(), nil
}

// Put stores one feature.
func (s *featureService) Put(ctx context.Context, req *catfishv1.FeatureServicePutRequest) (
	*catfishv1.FeatureServicePutResponse, error,
) {
	name := req.GetCollection()
	c, err := s.collection(ctx, "collection", name)
	if err != nil {
		return nil, err
	}
	if req.GetIfAbsent() && req.GetIfRevision() != 0 {
		return nil, statusOf(name, &fieldError{"if_absent", ReasonBadField, errors.New("excludes if_revision")})
	}
	e, err := encode(c, "feature", req.GetFeature())
	if err == nil {
		err = s.boxes.Host.CheckMemory()
	}
	if err != nil {
		return nil, statusOf(name, err)
	}
	type outcome struct {
		revision uint64
		err      error
	}
	made := make(chan outcome, 1)
	c.PutEncoded(e.id, e.value, e.expires, kv.Condition{
		IfAbsent: req.GetIfAbsent(), IfRevision: req.GetIfRevision(),
	}, func(revision uint64, err error) { made <- outcome{revision, err} })
	select {
	case o := <-made:
		if o.err != nil {
			return nil, failed(ctx, name, ofFeature(e.id, o.err))
		}
		return &catfishv1.FeatureServicePutResponse{Id: e.id, Revision: o.revision}, nil
	case <-ctx.Done():
		return nil, statusOf(name, context.Cause(ctx))
	}
}

// Patch changes properties.
func (s *featureService) Patch(ctx context.Context, req *catfishv1.FeatureServicePatchRequest) (
	*catfishv1.FeatureServicePatchResponse, error,
) {
	name := req.GetCollection()
	c, err := s.collection(ctx, "collection", name)
	if err != nil {
		return nil, err
	}
	// Later errors are then about the stored feature or the result of the patch.
	switch patch, err := feature.CompactProperties([]byte(req.GetProperties())); {
	case err != nil:
		return nil, statusOf(name, &fieldError{"properties", ReasonBadProperties, err})
	case patch == nil:
		return nil, statusOf(name, &fieldError{"properties", ReasonBadProperties, errMissing})
	}
	if err = checkID("id", req.GetId()); err == nil {
		err = s.boxes.Host.CheckMemory()
	}
	if err != nil {
		return nil, statusOf(name, err)
	}
	revision, err := c.Patch(ctx, req.GetId(), []byte(req.GetProperties()), kv.Condition{IfRevision: req.GetIfRevision()})
	if err != nil {
		return nil, failed(ctx, name, ofFeature(req.GetId(), err))
	}
	return &catfishv1.FeatureServicePatchResponse{Revision: revision}, nil
}

func checkID(field, id string) error {
	if id == "" {
		return &fieldError{field, ReasonBadField, errMissing}
	}
	if err := feature.CheckID(id); err != nil {
		return &fieldError{field, ReasonBadField, err}
	}
	return nil
}

// Delete removes one feature. It needs no free memory.
func (s *featureService) Delete(ctx context.Context, req *catfishv1.FeatureServiceDeleteRequest) (
	*catfishv1.FeatureServiceDeleteResponse, error,
) {
	name := req.GetCollection()
	c, err := s.collection(ctx, "collection", name)
	if err != nil {
		return nil, err
	}
	if err := checkID("id", req.GetId()); err != nil {
		return nil, statusOf(name, err)
	}
	revision, err := c.Delete(ctx, req.GetId(), kv.Condition{IfRevision: req.GetIfRevision()})
	if err != nil {
		return nil, failed(ctx, name, ofFeature(req.GetId(), err))
	}
	return &catfishv1.FeatureServiceDeleteResponse{Revision: revision}, nil
}

// DeleteWhere removes the features that a query finds.
func (s *featureService) DeleteWhere(ctx context.Context, req *catfishv1.FeatureServiceDeleteWhereRequest) (
	*catfishv1.FeatureServiceDeleteWhereResponse, error,
) {
	name := req.GetCollection()
	c, err := s.collection(ctx, "collection", name)
	if err != nil {
		return nil, err
	}
	q, err := queryOf(c, "query", req.GetQuery())
	if err != nil {
		return nil, statusOf(name, err)
	}
	if q.Area == nil && q.Filter == "" && !req.GetEverything() {
		return nil, statusOf(name, &fieldError{"query", ReasonBadField,
			errors.New("is empty; set everything to delete all features")})
	}
	p := s.pacer(ctx)
	defer p.end()
	q.Limit, q.Pace, q.Rest, q.Hold = int(req.GetLimit()), p.pace, p.end, searching(ctx)
	n, err := c.DeleteWhere(ctx, q)
	res := &catfishv1.FeatureServiceDeleteWhereResponse{Deleted: uint64(n)}
	if err != nil {
		return nil, failed(ctx, name, err, res)
	}
	return res, nil
}
