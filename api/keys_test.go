package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/rstar"
)

// testKeys is a file of keys with one for each list of roles, and their texts.
func testKeys(t *testing.T, entries ...access.Entry) (keys *access.Keys, file string, texts []string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "keys")
	for _, e := range entries {
		e, key, err := access.NewKey(e)
		if err == nil {
			err = access.Add(file, e)
		}
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, key)
	}
	keys, err := access.Open(file, slog.New(slog.NewTextHandler(io.Discard, nil)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return keys, file, texts
}

func withKey(ctx context.Context, key string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key)
}

// Each method needs a role, so that a new one cannot be forgotten.
func TestEveryMethodHasARole(t *testing.T) {
	n := 0
	for _, d := range []grpc.ServiceDesc{
		catfishv1.CatfishService_ServiceDesc, catfishv1.CollectionService_ServiceDesc, catfishv1.FeatureService_ServiceDesc,
	} {
		for _, m := range d.Methods {
			n++
			if roles["/"+d.ServiceName+"/"+m.MethodName] == access.None {
				t.Errorf("%s has no role", m.MethodName)
			}
		}
		for _, m := range d.Streams {
			n++
			if roles["/"+d.ServiceName+"/"+m.StreamName] == access.None {
				t.Errorf("%s has no role", m.StreamName)
			}
		}
	}
	if n != len(roles) {
		t.Errorf("%d methods, %d roles", n, len(roles))
	}
}

// Every call with every key: whether it is permitted, and which error it gets otherwise.
func TestKeys(t *testing.T) {
	keys, _, k := testKeys(t,
		access.Entry{Roles: []string{"cafes:read"}},
		access.Entry{Roles: []string{"cafes:write", "default:read"}},
		access.Entry{Roles: []string{"*:admin"}})
	newBackend := trees{"cafes": treeOf(t), "default": treeOf(t), "other": treeOf(t)}.alone()
	c := startBufconn(t, newBackend, WithKeys(keys))
	ctx := testContext(t)
	writes := []string{"Insert", "Update", "Delete", "Load"}
	for _, tc := range []struct {
		name       string
		ctx        context.Context
		collection string
		read       codes.Code
		write      codes.Code
	}{
		{"none", ctx, "cafes", codes.Unauthenticated, codes.Unauthenticated},
		{"wrong", withKey(ctx, "catfish_x"), "cafes", codes.Unauthenticated, codes.Unauthenticated},
		{"wrong scheme", metadata.AppendToOutgoingContext(ctx, "authorization", "Basic "+k[2]), "cafes", codes.Unauthenticated, codes.Unauthenticated},
		{"no scheme", metadata.AppendToOutgoingContext(ctx, "authorization", k[2]), "cafes", codes.Unauthenticated, codes.Unauthenticated},
		{"reader", withKey(ctx, k[0]), "cafes", codes.OK, codes.PermissionDenied},
		{"reader elsewhere", withKey(ctx, k[0]), "other", codes.PermissionDenied, codes.PermissionDenied},
		// An unknown collection looks like one that is not permitted.
		{"reader nowhere", withKey(ctx, k[0]), "unknown", codes.PermissionDenied, codes.PermissionDenied},
		{"reader, no name", withKey(ctx, k[0]), "", codes.PermissionDenied, codes.PermissionDenied},
		{"writer", withKey(ctx, k[1]), "cafes", codes.OK, codes.OK},
		{"writer, no name", withKey(ctx, k[1]), "", codes.OK, codes.PermissionDenied},
		{"admin", withKey(ctx, k[2]), "other", codes.OK, codes.OK},
		{"x-api-key", metadata.AppendToOutgoingContext(ctx, "x-api-key", k[2]), "other", codes.OK, codes.OK},
	} {
		for call, err := range everyCall(tc.ctx, c, tc.collection) {
			want := tc.read
			if slices.Contains(writes, call) {
				want = tc.write
			}
			d := detailsOf(err)
			if d.code != want {
				t.Errorf("%s: %s: %v, want %v", tc.name, call, err, want)
			}
			switch {
			case want == codes.Unauthenticated && d.reason != ReasonNoKey,
				want == codes.PermissionDenied && d.reason != ReasonNotPermitted:
				t.Errorf("%s: %s: %+v", tc.name, call, d)
			}
		}
	}
}

// Services that need no key: the server's health, and its methods.
func TestFreeServices(t *testing.T) {
	keys, _, _ := testKeys(t, access.Entry{Roles: []string{"*:read"}})
	c := startBufconn(t, trees{"default": treeOf(t)}.alone(), WithKeys(keys))
	ctx := testContext(t)
	if _, err := healthpb.NewHealthClient(c.conn).Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
	s, err := grpc_reflection_v1.NewServerReflectionClient(c.conn).ServerReflectionInfo(ctx)
	if err == nil {
		err = s.Send(&grpc_reflection_v1.ServerReflectionRequest{
			MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}})
	}
	if err == nil {
		_, err = s.Recv()
	}
	if err != nil {
		t.Error(err)
	}
}

// Stats names no collection that the key may not read.
func TestStatsNames(t *testing.T) {
	keys, _, k := testKeys(t, access.Entry{Roles: []string{"a*:read"}})
	c := startBufconn(t, trees{"a1": treeOf(t), "a2": treeOf(t), "b": treeOf(t)}.alone(), WithKeys(keys))
	st, err := c.Stats(withKey(testContext(t), k[0]), &catfishv1.StatsRequest{Collection: "a1"})
	if err != nil || !slices.Equal(st.GetCollections(), []string{"a1", "a2"}) {
		t.Errorf("%v, %v", st.GetCollections(), err)
	}
}

func TestKeyRate(t *testing.T) {
	keys, _, k := testKeys(t, access.Entry{Roles: []string{"*:read"}, Rate: 0.001, Burst: 2})
	c := startBufconn(t, trees{"default": treeOf(t)}.alone(), WithKeys(keys))
	ctx := withKey(testContext(t), k[0])
	r := &catfishv1.Rect{MaxX: 1, MaxY: 1}
	for i := range 4 {
		_, err := c.Count(ctx, &catfishv1.CountRequest{Query: r})
		_, err2 := c.search(ctx, &catfishv1.SearchRequest{Query: r})
		if i == 0 {
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			continue
		}
		for _, err := range []error{err, err2} {
			if d := detailsOf(err); d.code != codes.ResourceExhausted || d.reason != ReasonRateLimited || !d.retry {
				t.Errorf("%v: %+v", err, d)
			}
		}
	}
}

// An upload may not continue in a collection that its first message did not
// name, and ends when its key is revoked.
func TestKeyDuringUpload(t *testing.T) {
	keys, file, k := testKeys(t, access.Entry{Name: "up", Roles: []string{"cafes:write"}})
	cafes, other := treeOf(t), treeOf(t)
	c := startBufconn(t, trees{"cafes": cafes, "other": other}.alone(), WithKeys(keys))
	ctx := withKey(testContext(t), k[0])
	first := loadRequest([]rstar.Item{{ID: 1}})
	first.Collection = "cafes"
	up, err := c.Load(ctx)
	if err == nil {
		err = up.Send(first)
	}
	if err == nil {
		next := loadRequest([]rstar.Item{{ID: 2}})
		next.Collection = "other"
		err = up.Send(next)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := up.CloseAndRecv(); detailsOf(err).code != codes.PermissionDenied {
		t.Errorf("%v, want PERMISSION_DENIED", err)
	}

	if up, err = c.Load(ctx); err == nil {
		err = up.Send(first)
	}
	if err != nil {
		t.Fatal(err)
	}
	// The upload has begun. Another key with the same name and rights does not keep it
	// alive.
	if _, err := access.Revoke(file, "up"); err != nil {
		t.Fatal(err)
	}
	if err := keys.Reload(); err != nil {
		t.Fatal(err)
	}
	// The server ends it; the client's side is still open.
	if err := up.RecvMsg(new(catfishv1.LoadResponse)); detailsOf(err).code != codes.Unauthenticated {
		t.Errorf("%v, want UNAUTHENTICATED", err)
	}
	if cafes.Len() != 0 || other.Len() != 0 {
		t.Errorf("%d and %d objects were stored", cafes.Len(), other.Len())
	}
}

// The server's errors contain the id of a key, and nothing else of it.
func TestErrorsHideKeys(t *testing.T) {
	keys, _, k := testKeys(t, access.Entry{Roles: []string{"cafes:read"}})
	c := startBufconn(t, trees{"cafes": treeOf(t)}.alone(), WithKeys(keys))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	secret := k[0][len(k[0])-64:]
	for _, key := range []string{k[0], k[0][:len(k[0])-1] + "!", k[0] + "!"} {
		for call, err := range everyCall(withKey(ctx, key), c, "other") {
			if err == nil || errors.Is(err, os.ErrDeadlineExceeded) || strings.Contains(err.Error(), secret[:16]) {
				t.Errorf("%s: %v", call, err)
			}
		}
	}
}
