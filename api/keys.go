package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/access"
)

// With WithKeys each call needs a key, in its metadata:
//
//	authorization: Bearer catfish_...        or        x-api-key: catfish_...
//
//	headers --> tap: whose key? --> interceptors of WithGRPC --> admit --> handler
//	                                (logs, metrics: they see refused calls, too)
//
// admit refuses a call without a good key (UNAUTHENTICATED), beyond the key's rate
// (RESOURCE_EXHAUSTED with a delay), and, when the message has arrived and names
// its collection, without the role that the method needs (PERMISSION_DENIED).
// Health and reflection need no key: they reveal nothing of the stored data.

// roles has the role that each method needs. A method without one is refused.
var roles = map[string]access.Role{
	catfishv1.CatfishService_Search_FullMethodName:     access.Read,
	catfishv1.CatfishService_SearchMany_FullMethodName: access.Read,
	catfishv1.CatfishService_Nearest_FullMethodName:    access.Read,
	catfishv1.CatfishService_Count_FullMethodName:      access.Read,
	catfishv1.CatfishService_Stats_FullMethodName:      access.Read,
	catfishv1.CatfishService_Insert_FullMethodName:     access.Write,
	catfishv1.CatfishService_Update_FullMethodName:     access.Write,
	catfishv1.CatfishService_Delete_FullMethodName:     access.Write,
	catfishv1.CatfishService_Load_FullMethodName:       access.Write,

	catfishv1.CollectionService_List_FullMethodName:     access.Read, // of each that is listed
	catfishv1.CollectionService_Describe_FullMethodName: access.Read,
	catfishv1.CollectionService_Create_FullMethodName:   access.Admin,
	catfishv1.CollectionService_Drop_FullMethodName:     access.Admin,
	catfishv1.CollectionService_Swap_FullMethodName:     access.Admin, // of both

	catfishv1.FeatureService_Get_FullMethodName:         access.Read,
	catfishv1.FeatureService_GetMany_FullMethodName:     access.Read,
	catfishv1.FeatureService_Search_FullMethodName:      access.Read,
	catfishv1.FeatureService_Nearest_FullMethodName:     access.Read,
	catfishv1.FeatureService_Count_FullMethodName:       access.Read,
	catfishv1.FeatureService_Watch_FullMethodName:       access.Read,
	catfishv1.FeatureService_Put_FullMethodName:         access.Write,
	catfishv1.FeatureService_Patch_FullMethodName:       access.Write,
	catfishv1.FeatureService_Delete_FullMethodName:      access.Write,
	catfishv1.FeatureService_DeleteWhere_FullMethodName: access.Write,
	catfishv1.FeatureService_Load_FullMethodName:        access.Write,
}

// freeServices need no key.
var freeServices = []string{
	"/grpc.health.v1.Health/", "/grpc.reflection.v1.ServerReflection/", "/grpc.reflection.v1alpha.ServerReflection/",
}

func isFree(method string) bool {
	return slices.ContainsFunc(freeServices, func(s string) bool { return strings.HasPrefix(method, s) })
}

// caller is the owner of a call's key, or why there is none.
type caller struct {
	principal *access.Principal
	err       error
}

// identify looks for a call's key.
func identify(keys *access.Keys, method string, md metadata.MD) caller {
	if keys == nil || isFree(method) {
		return caller{}
	}
	key := ""
	if v := md.Get("authorization"); len(v) > 0 {
		scheme, rest, ok := strings.Cut(v[0], " ")
		if !ok || !strings.EqualFold(scheme, "bearer") {
			return caller{err: fmt.Errorf("%w: metadata authorization is not of the form Bearer KEY", access.ErrUnauthenticated)}
		}
		key = strings.TrimSpace(rest)
	} else if v := md.Get("x-api-key"); len(v) > 0 {
		key = v[0]
	}
	p, err := keys.Authenticate(key)
	return caller{p, err}
}

// KeyOf returns the id of the key of a call, for logs; it is no secret. It is
// empty without a good key. ctx is that of a handler or interceptor.
func KeyOf(ctx context.Context) string {
	if p := callOf(ctx).caller.principal; p != nil {
		return p.ID()
	}
	return ""
}

// guard admits calls by their keys.
type guard struct{ keys *access.Keys } // not nil

// admit checks everything but the role. p is nil if the method needs no key.
func (g guard) admit(ctx context.Context, method string) (p *access.Principal, need access.Role, err error) {
	if isFree(method) {
		return nil, access.None, nil
	}
	who := callOf(ctx).caller
	if who.err != nil {
		return nil, 0, who.err
	}
	if p = who.principal; p == nil {
		return nil, 0, access.ErrUnauthenticated
	}
	if err := p.Admit(); err != nil {
		return nil, 0, err
	}
	need, known := roles[method]
	if !known {
		return nil, 0, fmt.Errorf("%w: no key is for %s", access.ErrPermission, method)
	}
	return p, need, nil
}

// collectionIn returns the collection that a request names.
func collectionIn(req any) string {
	if r, ok := req.(interface{ GetCollection() string }); ok && r.GetCollection() != "" {
		return r.GetCollection()
	}
	if r, ok := req.(interface{ GetName() string }); ok { // of CollectionService
		return r.GetName()
	}
	return DefaultCollection
}

func (g guard) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	p, need, err := g.admit(ctx, info.FullMethod)
	if err != nil {
		return nil, statusOf("", err)
	}
	if p == nil {
		return next(ctx, req)
	}
	name := collectionIn(req)
	if _, all := req.(*catfishv1.CollectionServiceListRequest); !all {
		if err := p.Check(name, need); err != nil {
			return nil, statusOf(name, err)
		}
	}
	if swap, ok := req.(*catfishv1.CollectionServiceSwapRequest); ok {
		if err := p.Check(swap.GetOther(), need); err != nil {
			return nil, statusOf(swap.GetOther(), err)
		}
	}
	res, err := next(ctx, req)
	if l, ok := res.(*catfishv1.CollectionServiceListResponse); ok && l != nil {
		l.Collections = slices.DeleteFunc(l.Collections, func(c *catfishv1.Collection) bool { return p.Role(c.Name) < access.Read })
	}
	if st, ok := res.(*catfishv1.StatsResponse); ok && st != nil {
		// Only the names that the key may know.
		st.Collections = slices.DeleteFunc(st.Collections, func(n string) bool { return p.Role(n) < access.Read })
	}
	return res, err
}

func (g guard) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	ctx := ss.Context()
	p, need, err := g.admit(ctx, info.FullMethod)
	if err != nil {
		return statusOf("", err)
	}
	if p == nil {
		return next(srv, ss)
	}
	c := callOf(ctx)
	defer p.OnEnd(func() { c.end(fmt.Errorf("%w: key %s has ended", access.ErrUnauthenticated, p.ID())) })()
	return next(srv, &guardedStream{ServerStream: ss, principal: p, need: need})
}

// guardedStream checks the collections that messages name. The first message
// always names one, others need not.
type guardedStream struct {
	grpc.ServerStream
	principal *access.Principal
	need      access.Role
	checked   string // a collection; empty: none yet
}

func (s *guardedStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	name := collectionIn(m)
	if r, ok := m.(interface{ GetCollection() string }); s.checked != "" && (!ok || r.GetCollection() == "") {
		return nil // of the same collection
	}
	if name == s.checked {
		return nil
	}
	if err := s.principal.Check(name, s.need); err != nil {
		return statusOf(name, err)
	}
	s.checked = name
	return nil
}
