package api

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/store"
)

// A name that a server refuses is the request's fault, and the error says so.
func TestCreateBadName(t *testing.T) {
	srv, err := catfish.NewServer(catfish.ServerOptions{
		Listen: "127.0.0.1:0", Transports: []string{catfish.TransportSoft},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	if err := srv.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := startBufconn(t, ServerBackend(srv), WithFeatures(storeOf(t, srv)))
	colls := catfishv1.NewCollectionServiceClient(c.conn)
	for _, name := range []string{"ca fes", "a/b", ".", "..", "..\n", strings.Repeat("x", 129), ""} {
		_, err := colls.Create(testContext(t), &catfishv1.CollectionServiceCreateRequest{Name: name})
		if d := detailsOf(err); d.code != codes.InvalidArgument || d.reason != ReasonBadField || d.field != "name" {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A name that is not UTF-8, which proto strings must be, breaks List and Stats
// for no client: no server takes it, and a name from another backend is quoted.
func TestListNameThatIsNotUTF8(t *testing.T) {
	srv, err := catfish.NewServer(catfish.ServerOptions{Listen: "127.0.0.1:0", Transports: []string{catfish.TransportSoft}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	if err := srv.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"\xff", ".", ".."} {
		if _, err := srv.CreateCollection(name); !errors.Is(err, store.ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	boxes := trees{DefaultCollection: treeOf(t), "\xfe": treeOf(t), "\xff": treeOf(t)}.alone()
	for name, b := range map[string]Backend{"server": ServerBackend(srv), "backend": boxes} {
		c := startBufconn(t, b, WithFeatures(storeOf(t, srv)))
		var listed []string
		req := &catfishv1.CollectionServiceListRequest{PageSize: 1}
		for {
			l, err := catfishv1.NewCollectionServiceClient(c.conn).List(testContext(t), req)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, p := range l.GetCollections() {
				listed = append(listed, p.GetName())
			}
			if req.PageToken = l.GetNextPageToken(); req.PageToken == "" {
				break
			}
		}
		st, err := c.Stats(testContext(t), &catfishv1.StatsRequest{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := []string{DefaultCollection}
		if name == "backend" {
			want = append(want, `"\xfe"`, `"\xff"`)
		}
		if !slices.Equal(listed, want) || !slices.Equal(st.GetCollections(), want) {
			t.Errorf("%s: %q and %q, want %q", name, listed, st.GetCollections(), want)
		}
	}
}
