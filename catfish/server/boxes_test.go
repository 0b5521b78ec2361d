package server

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

const testKept = "kept"

// newKeptLives is lives of a server that keeps boxes.
func newKeptLives(t *testing.T) *lives {
	l := newLives(t)
	l.stop()
	l.opts.SlabBytes, l.opts.DataDir = 64<<20, filepath.Join(t.TempDir(), "data")
	l.opts.Keep, l.opts.BackupDir = []string{testKept}, filepath.Join(t.TempDir(), "backups")
	l.start()
	l.waitReady()
	return l
}

func (l *lives) waitReady() {
	l.t.Helper()
	if err := l.WaitReady(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
}

func dialKept(t *testing.T, s *Server, o client.Options) *client.Client {
	t.Helper()
	c, err := dial(t, s, o).Collection(testKept)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestKeptLoading: before the store is loaded a client can neither use a kept
// collection nor make another one of that name.
func TestKeptLoading(t *testing.T) {
	o := Options{DataDir: t.TempDir(), Keep: []string{testKept}, Transports: []string{model.TransportTCP}, SlabBytes: 1 << 20, Logger: quiet()}
	s := unloaded(t, o)
	for _, err := range []error{
		func() error { _, err := s.Kept(testKept); return err }(),
		func() error { _, err := s.CreateKept(testKept); return err }(),
		func() error {
			_, err := s.store.Create(testKept, store.Spec{Kind: store.KindBoxes, Account: newClientCollections(1).Open("somebody", func(error) {})})
			return err
		}(),
	} {
		if !errors.Is(err, model.ErrNotReady) {
			t.Error(err)
		}
	}
}

// TestKeptHostile: requests that no client sends are refused, and change nothing.
func TestKeptHostile(t *testing.T) {
	l := newKeptLives(t)
	c, err := l.store.Lookup(testKept)
	if err != nil {
		t.Fatal(err)
	}
	bad := wire.AppendItem(nil, rstar.Item{Rect: rstar.Rect{MinX: 2, MaxX: 1}})
	good := wire.AppendItem(nil, rstar.Item{Rect: square(1, 1)})
	for _, r := range []struct {
		kind fastmsg.Kind
		body []byte
		want error
	}{
		{wire.KindInsert, append(wire.AppendHead(nil, c.Number, 0), bad...), rstar.ErrBadRect},
		{wire.KindDelete, append(wire.AppendHead(nil, c.Number, 0), bad...), rstar.ErrBadRect},
		{wire.KindUpdate, append(append(wire.AppendHead(nil, c.Number, 0), good[:wire.RectBytes]...), bad...), rstar.ErrBadRect},
		{wire.KindInsertMany, append(append(wire.AppendHead(nil, c.Number, 2), good...), bad...), rstar.ErrBadRect},
		{wire.KindInsertMany, append(wire.AppendHead(nil, c.Number, 2), good...), model.ErrProtocol},
		{wire.KindCreateKept, nil, model.ErrProtocol},
		{wire.KindCreateKept, []byte(strings.Repeat("x", 1000)), model.ErrProtocol},
	} {
		if _, err := client.RawCall(t.Context(), dialKept(t, l.Server, client.Options{Transport: model.TransportTCP}), wire.RawMessage{Kind: r.kind, Body: r.body}); !errors.Is(err, r.want) {
			t.Errorf("kind %d: %v, want %v", r.kind, err, r.want)
		}
	}
	if n := c.Tree.Len(); n != 0 {
		t.Errorf("%d objects", n)
	}
}
