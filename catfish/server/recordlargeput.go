package server

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
)

const (
	// uploadTimeout is how long a part may take: as long as a chunk of an answer.
	uploadTimeout = limits.StallTimeout
	// uploadBase is what an upload holds besides the bytes that came: the block
	// that is being gathered.
	uploadBase = record.MaxBlockBytes
)

// upload is a value of which the server has parts.
type upload struct {
	coll    *collection
	draft   *kv.Draft     // of a record in memory alone; nil: body
	body    []byte        // of a feature or a kept record, which the store's log needs whole
	of      uint32        // bytes of the whole value
	last    time.Duration // when the last part came, by Server.now
	account *limits.Account
	cut     atomic.Bool // others need the room: no part is taken any more
}

// uploadSet has the uploads of a connection. The connection's goroutine uses it, and
// the server's goroutine that ends uploads which make no progress.
type uploadSet struct {
	mu   sync.Mutex
	have [wire.MaxUploads]*upload
	n    int // how many of have are not nil
	all  *sets[*uploadSet]
}

// expire ends the uploads that made no progress, or were cut.
func (set *uploadSet) expire(now time.Duration) {
	set.mu.Lock()
	defer set.mu.Unlock()
	for i, u := range set.have {
		if u != nil && (u.cut.Load() || now-u.last >= uploadTimeout) {
			set.drop(i)
		}
	}
}

// close ends all uploads of a connection that has ended.
func (set *uploadSet) close() {
	set.mu.Lock()
	defer set.mu.Unlock()
	for i := range set.have {
		set.drop(i)
	}
}

// drop ends an upload, if there is one. The caller holds mu.
func (set *uploadSet) drop(i int) {
	u := set.have[i]
	if u == nil {
		return
	}
	if u.draft != nil {
		u.draft.Discard()
	}
	u.account.Close()
	set.have[i] = nil
	if set.n--; set.n == 0 {
		set.all.list(set, false)
	}
}

// begin begins upload i. The caller holds mu.
func (set *uploadSet) begin(s *Server, i int, u *upload, source string) error {
	set.drop(i)
	u.account = s.budgets.answers.Open(source, func(error) { u.cut.Store(true) })
	if err := u.account.Take(uploadBase); err != nil {
		u.account.Close()
		return fmt.Errorf("value of %d bytes in parts: %w", u.of, err)
	}
	if u.coll.Features == nil && u.coll.Kept == nil {
		u.draft = u.coll.Records.NewDraft()
	}
	set.have[i] = u
	if set.n++; set.n == 1 {
		set.all = &s.uploads
		set.all.list(set, true)
	}
	return nil
}

// mostValue is the largest value that a Put in parts or a Get's answer may have:
// half of a source's share, so that a source may put one and get one at once.
func (s *Server) mostValue() int {
	return int(min(record.MaxValueBytes, s.budgets.answers.Use().Share/2))
}

// valueTooLarge names the limit of mostValue.
func (s *Server) valueTooLarge(sentinel error, bytes int) error {
	return fmt.Errorf("%w: value of %d bytes, limit %d (a 36th of --memory-limit, up to %d)",
		sentinel, bytes, s.mostValue(), record.MaxValueBytes)
}

// noUpload is the error for an upload that has ended.
func noUpload(i uint32) error {
	return fmt.Errorf("%w: no upload %d: it was ended, after %v without a part or to make room for others",
		model.ErrBusy, i, uploadTimeout)
}

// takePart carries out a part: i is the upload's number.
func (v *service) takePart(from *peer, c *collection, i uint32, p []byte) error {
	if len(p) < wire.PartBytes || i >= wire.MaxUploads {
		return fmt.Errorf("%w: part of upload %d, want 0 to %d, of %d bytes, want at least %d",
			model.ErrProtocol, i, wire.MaxUploads-1, len(p), wire.PartBytes)
	}
	at, of, p := binary.LittleEndian.Uint32(p), binary.LittleEndian.Uint32(p[4:]), p[wire.PartBytes:]
	set := &from.uploads
	set.mu.Lock()
	defer set.mu.Unlock()
	err := v.s.CheckMemory()
	if err == nil && at == 0 {
		if most := v.s.mostValue(); uint64(of) > uint64(most) {
			err = v.s.valueTooLarge(record.ErrTooLarge, int(of))
		} else if c.Kept != nil && of > store.MaxRecordBytes {
			err = fmt.Errorf("%w: value of %d bytes, limit %d of records that are kept", record.ErrTooLarge, of, store.MaxRecordBytes)
		} else {
			err = set.begin(v.s, int(i), &upload{coll: c, of: of}, v.source(from))
		}
	}
	u := set.have[i]
	if err == nil && (u == nil || u.cut.Load()) {
		err = noUpload(i)
	}
	if err == nil {
		err = u.take(c, at, of, p, v.s.now())
	}
	if err != nil {
		set.drop(int(i))
	}
	return err
}

// take adds a part.
func (u *upload) take(c *collection, at, of uint32, p []byte, now time.Duration) error {
	have := uint32(u.bytes())
	if c != u.coll || of != u.of || at != have || len(p) == 0 || uint64(len(p)) > uint64(of-at) {
		return fmt.Errorf("%w: part of %d bytes at %d of %d, collection %d, want a part at %d of %d, collection %d",
			model.ErrProtocol, len(p), at, of, c.Number, have, u.of, u.coll.Number)
	}
	if err := u.account.Take(int64(len(p))); err != nil {
		return fmt.Errorf("value of %d bytes in parts: %w", of, err)
	}
	u.last = now
	if u.draft == nil {
		u.body = append(u.body, p...)
		return nil
	}
	return u.draft.Append(p)
}

// bytes is how much of the value has come.
func (u *upload) bytes() int {
	if u.draft == nil {
		return len(u.body)
	}
	return u.draft.Bytes()
}

// putParts puts the value of an upload, and ends the upload.
func (set *uploadSet) putParts(c *collection, e kv.Entry, cond kv.Condition) (revision uint64, err error) {
	err = set.end(c, e.Value, func(u *upload) error {
		e.Value = nil
		revision, err = u.draft.Put(e, cond)
		return err
	})
	return revision, err
}

// bodyOf returns the value of an upload of a feature or a kept record, and ends the upload.
func (set *uploadSet) bodyOf(c *collection, number []byte) (body []byte, err error) {
	err = set.end(c, number, func(u *upload) error {
		body = u.body
		return nil
	})
	return body, err
}

// end ends the upload of a number, and calls f with it if it is complete.
func (set *uploadSet) end(c *collection, number []byte, f func(*upload) error) error {
	if len(number) != 4 {
		return fmt.Errorf("%w: the number of an upload has %d bytes, want 4", model.ErrProtocol, len(number))
	}
	i := binary.LittleEndian.Uint32(number)
	if i >= wire.MaxUploads {
		return fmt.Errorf("%w: upload %d, want 0 to %d", model.ErrProtocol, i, wire.MaxUploads-1)
	}
	set.mu.Lock()
	defer set.mu.Unlock()
	defer set.drop(int(i))
	u := set.have[i]
	switch {
	case u == nil || u.cut.Load():
		return noUpload(i)
	case u.coll != c || u.bytes() != int(u.of):
		return fmt.Errorf("%w: upload %d has %d bytes of %d, of collection %d, to be put into %d",
			model.ErrProtocol, i, u.bytes(), u.of, u.coll.Number, c.Number)
	}
	return f(u)
}
