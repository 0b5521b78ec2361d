package api

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/names"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/whole"
)

// collectionService implements catfish.v1.CollectionService.
type collectionService struct {
	catfishv1.UnimplementedCollectionServiceServer
	*features
}

const (
	// maxCollections is the largest page of collections: 0.2 MB of short names.
	maxCollections = 1000
	// MaxTextBytes bounds a title, and a description.
	MaxTextBytes = 4096
)

// Create makes a collection of features.
func (s *collectionService) Create(ctx context.Context, req *catfishv1.CollectionServiceCreateRequest) (
	*catfishv1.CollectionServiceCreateResponse, error,
) {
	name := req.GetName()
	o, err := optionsOf(req)
	if err == nil {
		err = context.Cause(ctx)
	}
	var st whole.Store
	if err == nil {
		st, err = s.ready()
	}
	if err == nil && slices.Contains(s.boxes.Collections(), name) {
		if _, e := st.Collection(name); e != nil {
			err = fmt.Errorf("%w: %q holds boxes", store.ErrCollectionExists, name)
		}
	}
	if err == nil {
		err = s.boxes.Host.CheckMemory()
	}
	var c whole.Collection
	var p *catfishv1.Collection
	if err == nil {
		c, err = st.CreateFeatures(ctx, name, o)
	}
	if err == nil {
		p, err = collectionOf(ctx, c)
	}
	if errors.Is(err, catfish.ErrOption) || errors.Is(err, store.ErrName) {
		err = &fieldError{"name", ReasonBadField, err}
	}
	if err != nil {
		return nil, statusOf(name, err)
	}
	return &catfishv1.CollectionServiceCreateResponse{Collection: p}, nil
}

func optionsOf(req *catfishv1.CollectionServiceCreateRequest) (o store.CollectionOptions, err error) {
	if err := checkName("name", req.GetName()); err != nil {
		return o, err
	}
	switch req.GetKind() {
	case catfishv1.CollectionKind_COLLECTION_KIND_UNSPECIFIED, catfishv1.CollectionKind_COLLECTION_KIND_FEATURES:
	default:
		return o, &fieldError{"kind", ReasonBadField, fmt.Errorf("is %v, want FEATURES", req.GetKind())}
	}
	switch req.GetSpace() {
	case catfishv1.Space_SPACE_UNSPECIFIED, catfishv1.Space_SPACE_GEOGRAPHIC:
	case catfishv1.Space_SPACE_PLANAR:
		o.Space = feature.Planar
	default:
		return o, unknownEnum("space", int32(req.GetSpace()))
	}
	for field, text := range map[string]string{"title": req.GetTitle(), "description": req.GetDescription()} {
		if len(text) > MaxTextBytes {
			return o, &fieldError{field, ReasonBadField, fmt.Errorf("has %d bytes, want at most %d", len(text), MaxTextBytes)}
		}
	}
	o.Title, o.Description = req.GetTitle(), req.GetDescription()
	return o, nil
}

func collectionOf(ctx context.Context, c whole.Collection) (*catfishv1.Collection, error) {
	n, err := c.Len(ctx)
	if err != nil {
		return nil, err
	}
	o := c.Options()
	p := &catfishv1.Collection{
		Name: names.Text(c.Name()), Kind: catfishv1.CollectionKind_COLLECTION_KIND_FEATURES,
		Space: catfishv1.Space_SPACE_GEOGRAPHIC, Title: o.Title, Description: o.Description,
		Count: uint64(n),
	}
	if o.Space == feature.Planar {
		p.Space = catfishv1.Space_SPACE_PLANAR
	}
	return p, nil
}

// boxesOf describes a collection of boxes.
func (s *features) boxesOf(name string) (*catfishv1.Collection, error) {
	c, err := s.boxes.Collection(name)
	if err != nil {
		return nil, err
	}
	return &catfishv1.Collection{
		Name: names.Text(name), Kind: catfishv1.CollectionKind_COLLECTION_KIND_BOXES, Count: uint64(c.Len()),
	}, nil
}

// List returns a page of collections, without those that are still being
// loaded.
func (s *collectionService) List(ctx context.Context, req *catfishv1.CollectionServiceListRequest) (
	*catfishv1.CollectionServiceListResponse, error,
) {
	size := int(min(req.GetPageSize(), maxCollections))
	if size == 0 {
		size = maxCollections
	}
	after, err := base64.RawURLEncoding.DecodeString(req.GetPageToken())
	if err != nil || len(after) > MaxNameBytes {
		return nil, statusOf("", &fieldError{"page_token", ReasonBadCursor, errCursor})
	}
	st, err := s.ready()
	if err != nil {
		return nil, statusOf("", err)
	}
	kept := map[string]whole.Collection{}
	all := s.boxes.Collections()
	for _, c := range st.Collections() {
		kept[c.Name()] = c
		all = append(all, c.Name())
	}
	slices.SortFunc(all, cmp.Compare[string])
	all = slices.Compact(all)
	res := &catfishv1.CollectionServiceListResponse{}
	last := ""
	for _, name := range all {
		if name <= string(after) && len(after) > 0 {
			continue
		}
		if len(res.Collections) == size {
			res.NextPageToken = base64.RawURLEncoding.EncodeToString([]byte(last))
			break
		}
		last = name
		if c, ok := kept[name]; ok {
			p, err := collectionOf(ctx, c)
			if err != nil {
				return nil, failed(ctx, name, err)
			}
			res.Collections = append(res.Collections, p)
		} else if c, err := s.boxesOf(name); err == nil {
			res.Collections = append(res.Collections, c)
		}
	}
	return res, nil
}

// Describe returns more about one collection.
func (s *collectionService) Describe(ctx context.Context, req *catfishv1.CollectionServiceDescribeRequest) (
	*catfishv1.CollectionServiceDescribeResponse, error,
) {
	name := req.GetName()
	if err := checkName("name", name); err != nil {
		return nil, statusOf("", err)
	}
	c, err := s.find(ctx, name)
	if errors.Is(err, catfish.ErrKind) {
		var boxes *catfishv1.Collection
		if boxes, err = s.boxesOf(name); err == nil {
			return &catfishv1.CollectionServiceDescribeResponse{Collection: boxes}, nil
		}
	}
	if err != nil {
		return nil, statusOf(name, err)
	}
	d, err := c.Describe(ctx)
	if err != nil {
		return nil, failed(ctx, name, err)
	}
	p, err := collectionOf(ctx, c)
	if err != nil {
		return nil, failed(ctx, name, err)
	}
	return described(&d, p), nil
}

// Drop removes a collection.
func (s *collectionService) Drop(ctx context.Context, req *catfishv1.CollectionServiceDropRequest) (
	*catfishv1.CollectionServiceDropResponse, error,
) {
	name := req.GetName()
	if _, err := s.collection(ctx, "name", name); err != nil {
		return nil, err
	}
	st, err := s.ready()
	if err != nil {
		return nil, statusOf(name, err)
	}
	ok, err := st.DropFeatures(ctx, name)
	if err == nil && !ok {
		err = fmt.Errorf("%w: %q", store.ErrUnknownCollection, name)
	}
	if err != nil {
		return nil, statusOf(name, err)
	}
	return &catfishv1.CollectionServiceDropResponse{}, nil
}

// Swap exchanges the names of two collections.
func (s *collectionService) Swap(ctx context.Context, req *catfishv1.CollectionServiceSwapRequest) (
	*catfishv1.CollectionServiceSwapResponse, error,
) {
	a, b := req.GetName(), req.GetOther()
	if _, err := s.collection(ctx, "name", a); err != nil {
		return nil, err
	}
	if _, err := s.collection(ctx, "other", b); err != nil {
		return nil, err
	}
	if a == b {
		return nil, statusOf(a, &fieldError{"other", ReasonBadField, errors.New("is the same as name")})
	}
	st, err := s.ready()
	if err == nil && st.Several() {
		err = fmt.Errorf("%w: swapping names, which is at one moment for all clients", fault.ErrSeveralGroups)
	}
	if err == nil {
		err = st.Own().Swap(ctx, a, b)
	}
	if err != nil {
		return nil, failed(ctx, a, err)
	}
	return &catfishv1.CollectionServiceSwapResponse{}, nil
}
