package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/wire"
)

// ServerInfo is one incarnation of a server.
type ServerInfo struct {
	Addr    string `json:"addr"`
	Version string `json:"version"`
	BootID  uint64 `json:"boot_id,string"` // random at each start
}

// restartCheck is the restart check of a client: an empty answer would be right for the
// new server, and wrong for a caller that knew the last one. Sessions with the
// same incarnation share one. docs/decisions/restarts.md.
type restartCheck struct {
	was, is ServerInfo
	err     error       // OnRestart's; nil: there is none
	over    atomic.Bool // AcceptRestart was called
	full    sync.Map    // string -> true: collections that are known to have objects
}

// AcceptRestart ends ErrRestarted: the client accepts the present server as it is.
// It does nothing if no call would fail with ErrRestarted.
func (c *Client) AcceptRestart() {
	if k := c.conn.cluster; k != nil {
		for _, of := range k.all() {
			(&Client{conn: of}).AcceptRestart()
		}
		return
	}
	if s := c.conn.sessions.latest(); s.restart != nil {
		s.restart.over.Store(true)
	}
}

func (s *session) info() ServerInfo {
	return ServerInfo{Addr: s.server, Version: s.hello.Version, BootID: s.hello.BootID}
}

// meet compares the server of a new session, which no call uses yet, with the
// server of the last session.
func (c *connection) meet(old, s *session) {
	if s.hello.BootID == old.hello.BootID || sameGroup(old, s) {
		s.restart = old.restart
		return
	}
	d := &restartCheck{was: old.info(), is: s.info()}
	if c.opts.OnRestart == nil {
		s.restart = d
		return
	}
	c.sessions.failed(errors.New("the server has restarted, and OnRestart has yet to return"))
	if err := c.opts.OnRestart(c.ctx, d.was, d.is); err != nil {
		d.err = fmt.Errorf("%w: %w", model.ErrRestarted, err)
		s.restart = d
	}
}

// check refuses a call that a restarted server cannot answer: every call, if
// OnRestart failed; and a call whose answer depends on existing objects, if the
// collection is empty.
func (d *restartCheck) check(ctx context.Context, s *session, o *openSlab, kind fastmsg.Kind) error {
	if d == nil || d.over.Load() {
		return nil
	}
	if d.err != nil {
		return d.err
	}
	if _, ok := d.full.Load(o.name); ok || kind == wire.KindInsert || kind == wire.KindInsertMany || kind == wire.KindCheck || kind == wire.KindWatch { // a watch compares histories
		return nil
	}
	if o.records != nil {
		return d.checkRecords(ctx, s, o, kind)
	}
	req := wire.AppendHead(nil, o.coll, 1)
	req = binary.LittleEndian.AppendUint64(req, 0)
	found, err := s.call(ctx, wire.KindNearest, binary.LittleEndian.AppendUint64(req, 0), nil)
	switch {
	case err != nil:
		return err
	case len(found) > 0:
		d.full.Store(o.name, true)
		return nil
	}
	return d.empty(o)
}

func (d *restartCheck) empty(o *openSlab) error {
	return fmt.Errorf("%w: boot id %#x at %s, was %#x, and collection %q is empty",
		model.ErrRestarted, d.is.BootID, d.is.Addr, d.was.BootID, o.name)
}

// checkRecords is check for a collection of records.
func (d *restartCheck) checkRecords(ctx context.Context, s *session, o *openSlab, kind fastmsg.Kind) error {
	if kind == wire.KindPut || kind == wire.KindStore {
		return nil
	}
	for i := range o.shards() {
		part, err := s.shard(ctx, o, i)
		if err != nil {
			return err
		}
		if some, err := s.hasRecords(ctx, part); err != nil {
			return err
		} else if some {
			d.full.Store(o.name, true)
			return nil
		}
	}
	return d.empty(o)
}

// hasRecords reports whether a collection has any records.
func (s *session) hasRecords(ctx context.Context, o *openSlab) (bool, error) {
	cursor := cuckoo.Cursor{}
	for !cursor.Done {
		ans, err := s.callOf(ctx, o, wire.KindScan, wire.AppendCursor(wire.AppendHead(nil, o.coll, 0), cursor), nil)
		if err != nil {
			return false, err
		}
		if len(ans) < wire.CursorBytes {
			return false, fmt.Errorf("%w: scan answered %d bytes, want at least %d", model.ErrProtocol, len(ans), wire.CursorBytes)
		}
		if len(ans) > wire.CursorBytes {
			return true, nil
		}
		cursor = wire.GetCursor(ans)
	}
	return false, nil
}
