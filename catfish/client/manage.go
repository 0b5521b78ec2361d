package client

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
)

// Collections lists the server's collections, sorted by name.
func (c *Client) Collections(ctx context.Context) ([]model.CollectionInfo, error) {
	if k := c.conn.cluster; k != nil {
		return k.collections(ctx)
	}
	st, err := c.Stats(ctx)
	if err != nil {
		return nil, err
	}
	l := make([]model.CollectionInfo, 0, len(st.Collections)+len(st.Records)+len(st.Features))
	for name, t := range st.Collections {
		l = append(l, model.CollectionInfo{
			Name: name, Kind: model.KindBoxes, Objects: t.Len, Loading: slices.Contains(st.Loading, name),
			Kept: slices.Contains(st.Kept, name), UsedBytes: t.UsedBytes, SlabBytes: t.SlabBytes,
		})
	}
	for name, r := range st.Records {
		l = append(l, model.CollectionInfo{
			Name: name, Kind: model.KindRecords, Objects: r.Index.Items, Loading: slices.Contains(st.Loading, name),
			Kept: slices.Contains(st.Kept, name), UsedBytes: r.UsedBytes, SlabBytes: r.SlabBytes, Shards: len(r.Shards),
		})
	}
	for name, f := range st.Features {
		l = append(l, model.CollectionInfo{
			Name: name, Kind: model.KindFeatures, Objects: f.Records.Index.Items, Loading: slices.Contains(st.Loading, name),
			UsedBytes: f.Tree.UsedBytes + f.Records.UsedBytes,
			// The two slabs have no more memory than the server.
			SlabBytes: min(f.Tree.SlabBytes+f.Records.SlabBytes, st.Memory.Limit),
			Features:  (*model.FeaturesOptions)(&f.CollectionOptions),
		})
	}
	slices.SortFunc(l, func(a, b model.CollectionInfo) int { return strings.Compare(a.Name, b.Name) })
	return l, nil
}

// CreateCollection adds a collection, unless there is one of that name.
// Client.Collection then gives a Client for it. A host, or with shm a user,
// may have created a number of them (ErrBusy: drop one, or see
// ServerOptions.ClientCollections). ErrNotPermitted: the server's collections
// are fixed. The server provides the memory, and chooses its size.
func (c *Client) CreateCollection(ctx context.Context, name string) error {
	return c.createBoxes(ctx, name, false)
}

// DropCollection removes a collection that a client created, with all objects,
// and reports whether there was one. Others are the server's: ErrNotPermitted.
// Searches of it, in flight and later, fail with ErrUnknownCollection.
func (c *Client) DropCollection(ctx context.Context, name string) (bool, error) {
	if err := wire.CheckFind(name); err != nil {
		return false, err
	}
	if k := c.conn.cluster; k != nil {
		return k.drop(ctx, name)
	}
	return boolAnswer(c.manage(ctx, wire.KindDrop, "drop collections", name))
}

func (c *Client) manage(ctx context.Context, kind fastmsg.Kind, what, name string) ([]byte, error) {
	return c.request(ctx, kind, func(s *session) (*openSlab, []byte, error) {
		if !s.knows(kind) {
			return nil, nil, s.cannot(what)
		}
		return nil, []byte(name), nil
	})
}

// cannot is the error for what an older server does not know.
func (s *session) cannot(what string) error {
	return fmt.Errorf("%w: server %s at %s is older than this client %s and cannot %s; update the server",
		model.ErrVersionMismatch, s.hello.Version, s.server, model.Version, what)
}

// knows reports whether the session's server knows a kind of request.
func (s *session) knows(kind fastmsg.Kind) bool {
	return kind <= max(s.hello.Requests, wire.KindSearchMany)
}
