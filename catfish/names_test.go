package catfish

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/disk"
)

// TestBadNames: no kind of collection is created with a name that the rule refuses: not
// by a client, not by a message that no client sends, not by the server's process.
func TestBadNames(t *testing.T) {
	s := startServer(t, ServerOptions{DataDir: filepath.Join(t.TempDir(), "data")})
	if err := s.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, ctx := dial(t, s, messagesOnly(TransportTCP)), t.Context()
	raw := func(kind fastmsg.Kind, body []byte) error {
		_, err := RawCall(ctx, c, RawMessage{Kind: kind, Body: body})
		return err
	}
	features, err := appendFeaturesOptions(nil, FeaturesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := s.Collections()
	for _, name := range []string{"\xff", "a\xff", ".", "..", "a/b", "a b", "a\u0085", "\n", "", strings.Repeat("x", 129)} {
		_, boxes := s.CreateCollection(name)
		_, kept := s.CreateKept(name)
		_, feat := s.CreateFeatures(name, FeaturesOptions{})
		_, records := s.CreateRecordShards(name, RecordsOptions{})
		for i, err := range []error{
			c.CreateCollection(ctx, name), c.CreateBoxes(ctx, name, BoxesOptions{Keep: true}),
			c.CreateFeatures(ctx, name, FeaturesOptions{}), c.CreateRecords(ctx, name, RecordsOptions{}),
			boxes, kept, feat, records,
			refused(ServerOptions{Collections: []string{name}}), refused(ServerOptions{Records: []string{name}}),
		} {
			if !errors.Is(err, ErrOption) || !errors.Is(err, store.ErrName) {
				t.Errorf("%q, %d: %v", name, i, err)
			}
		}
		for _, err := range []error{
			raw(kindCreate, []byte(name)), raw(kindCreateKept, []byte(name)), raw(kindCreateFeatures, append(features, name...)),
			raw(kindCreateRecords, append(appendRecordsOptions(nil, RecordsOptions{}), name...)),
		} {
			if !errors.Is(err, ErrProtocol) {
				t.Errorf("%q in a message: %v", name, err)
			}
		}
	}
	if got := s.Collections(); !slices.Equal(got, before) {
		t.Errorf("%q, before %q", got, before)
	}
}

// refused is the error of NewServer.
func refused(o ServerOptions) error {
	s, err := NewServer(o)
	if err == nil {
		return s.Close()
	}
	return err
}

// TestOldBadNames: a collection whose name predates the rule is served, and can be
// swapped and dropped, after which none of that name exists.
func TestOldBadNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	db, err := disk.Open(dir, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	old := []string{".", "..", "a b", "\xff"}
	for i, name := range old {
		if err := db.Commit([]disk.Entry{{
			Collection: uint32(i + 1), Kind: disk.Create, Key: []byte(name), Value: []byte("{}"), Revision: db.Revision() + 1,
		}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	// The operator may have given the options of one a second time.
	s := startServer(t, ServerOptions{DataDir: dir, Features: map[string]FeaturesOptions{"a b": {}}})
	c, ctx := dial(t, s, messagesOnly(TransportTCP)), t.Context()
	if err := s.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.SwapCollections(ctx, ".", ".."); err != nil {
		t.Error(err)
	}
	for _, name := range old {
		f, err := c.Features(name)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := f.Count(ctx, FeatureQuery{}); n != 0 || err != nil {
			t.Errorf("%q: %d, %v", name, n, err)
		}
		if name == "a b" {
			continue
		}
		if ok, err := c.DropCollection(ctx, name); !ok || err != nil {
			t.Errorf("dropping %q: %v, %v", name, ok, err)
		}
		if err := c.CreateFeatures(ctx, name, FeaturesOptions{}); !errors.Is(err, store.ErrName) {
			t.Errorf("creating %q: %v", name, err)
		}
	}
	if got := s.Collections(); !slices.Equal(got, []string{"a b", DefaultCollection}) {
		t.Errorf("%q are left", got)
	}
}
