package client

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/wire"
)

// TestBadNames: no kind of collection is created with a name that the rule refuses: not
// by a client, not by a message that no client sends, not by the server's process.
func TestBadNames(t *testing.T) {
	s := startServer(t, server.Options{DataDir: filepath.Join(t.TempDir(), "data")})
	if err := s.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, ctx := dial(t, s, messagesOnly(model.TransportTCP)), t.Context()
	raw := func(kind fastmsg.Kind, body []byte) error {
		_, err := RawCall(ctx, c, wire.RawMessage{Kind: kind, Body: body})
		return err
	}
	features, err := wire.AppendFeaturesOptions(nil, model.FeaturesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := s.Collections()
	for _, name := range []string{"\xff", "a\xff", ".", "..", "a/b", "a b", "a\u0085", "\n", "", strings.Repeat("x", 129)} {
		_, boxes := s.CreateCollection(name)
		_, kept := s.CreateKept(name)
		_, feat := s.CreateFeatures(name, model.FeaturesOptions{})
		_, records := s.CreateRecordShards(name, model.RecordsOptions{})
		for i, err := range []error{
			c.CreateCollection(ctx, name), c.CreateBoxes(ctx, name, model.BoxesOptions{Keep: true}),
			c.CreateFeatures(ctx, name, model.FeaturesOptions{}), c.CreateRecords(ctx, name, model.RecordsOptions{}),
			boxes, kept, feat, records,
			refused(server.Options{Collections: []string{name}}), refused(server.Options{Records: []string{name}}),
		} {
			if !errors.Is(err, model.ErrOption) || !errors.Is(err, store.ErrName) {
				t.Errorf("%q, %d: %v", name, i, err)
			}
		}
		for _, err := range []error{
			raw(wire.KindCreate, []byte(name)), raw(wire.KindCreateKept, []byte(name)), raw(wire.KindCreateFeatures, append(features, name...)),
			raw(wire.KindCreateRecords, append(wire.AppendRecordsOptions(nil, model.RecordsOptions{}), name...)),
		} {
			if !errors.Is(err, model.ErrProtocol) {
				t.Errorf("%q in a message: %v", name, err)
			}
		}
	}
	if got := s.Collections(); !slices.Equal(got, before) {
		t.Errorf("%q, before %q", got, before)
	}
}

// refused is the error of NewServer.
func refused(o server.Options) error {
	s, err := server.NewServer(o)
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
	s := startServer(t, server.Options{DataDir: dir, Features: map[string]model.FeaturesOptions{"a b": {}}})
	c, ctx := dial(t, s, messagesOnly(model.TransportTCP)), t.Context()
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
		if n, err := f.Count(ctx, model.FeatureQuery{}); n != 0 || err != nil {
			t.Errorf("%q: %d, %v", name, n, err)
		}
		if name == "a b" {
			continue
		}
		if ok, err := c.DropCollection(ctx, name); !ok || err != nil {
			t.Errorf("dropping %q: %v, %v", name, ok, err)
		}
		if err := c.CreateFeatures(ctx, name, model.FeaturesOptions{}); !errors.Is(err, store.ErrName) {
			t.Errorf("creating %q: %v", name, err)
		}
	}
	if got := s.Collections(); !slices.Equal(got, []string{"a b", model.DefaultCollection}) {
		t.Errorf("%q are left", got)
	}
}
