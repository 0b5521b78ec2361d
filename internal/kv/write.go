package kv

import (
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/record"
)

// Writes
//
// A Put is two steps, between which a caller may make the write durable:
//
//	Stage     the record is written; nothing leads to it
//	Publish   the key index leads to it, then the follower does (Options.Follow),
//	          then the old record is dead

// Put stores a record under its key, in place of the present one, and returns its
// revision.
func (m *Map) Put(e Entry, c Condition) (revision uint64, err error) {
	return m.put(e, c, nil, false)
}

// put is Put, Draft.Put, or, if joins is set, Append.
func (m *Map) put(e Entry, c Condition, d *record.Draft, joins bool) (revision uint64, err error) {
	hash := cuckoo.Hash(m.seed, e.Key)
	m.index.Prefetch(hash)
	if err := m.lock(); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	now := m.now()
	old, has, mortal := m.find(hash, e.Key, now)
	if err := c.Check(e.Key, has); err != nil {
		return 0, err
	}
	if joins && has != 0 {
		if err := m.join(&e, old); err != nil {
			return 0, err
		}
	}
	if m.cache != nil {
		n := len(e.Value)
		if d != nil {
			n = d.Bytes()
		}
		if err := m.makeSpace(e.Key, RecordBytes(len(e.Key), n, e.Expiry != 0), old, now); err != nil {
			return 0, err
		}
	}
	ref, err := m.stage(&e, d, now)
	if err != nil {
		return 0, err
	}
	if err := m.publish(hash, old, ref, now); err != nil {
		return 0, err
	}
	revision = m.revision
	m.count(mortal, e.Expiry != 0)
	m.tidy(now, tidyEachWrite)
	if e.Expiry != 0 && m.expired == nil {
		m.expire(now, tidyEachWrite) // its deletions have revisions, too
	}
	return revision, nil
}

// Stage writes a record to which nothing leads until Publish. Discard takes it back.
func (m *Map) Stage(e Entry) (record.Ref, error) {
	if err := m.lock(); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	return m.stage(&e, nil, m.now())
}

// stage writes a record, whose value is d if that is not nil.
func (m *Map) stage(e *Entry, d *record.Draft, now time.Duration) (record.Ref, error) {
	r := record.Record{Key: e.Key, Value: e.Value, Revision: e.Revision, Expiry: int64(e.Expiry), Flags: e.Flags}
	if r.Revision == 0 {
		r.Revision = m.revision + 1
	}
	ref, err := m.write(&r, d, now)
	if errors.Is(err, record.ErrFull) && m.makeRoom(now) {
		ref, err = m.write(&r, d, now)
	}
	return ref, err
}

// Discard takes back a staged record.
func (m *Map) Discard(ref record.Ref) error {
	if err := m.lock(); err != nil {
		return err
	}
	defer m.mu.Unlock()
	return m.heap.Kill(ref, m.now())
}

// Publish makes the key of a staged record lead to it. If it fails nothing was changed,
// and the record is discarded.
func (m *Map) Publish(key []byte, ref record.Ref) error {
	hash := cuckoo.Hash(m.seed, key)
	m.index.Prefetch(hash)
	if err := m.lock(); err != nil {
		return err
	}
	defer m.mu.Unlock()
	now := m.now()
	old, _, mortal := m.find(hash, key, now)
	v, err := m.heap.View(ref, key)
	if err != nil {
		return fmt.Errorf("kv: publish: %w", err)
	}
	expires := v.Expiry != 0
	if err := m.publish(hash, old, ref, now); err != nil {
		return err
	}
	m.count(mortal, expires)
	m.tidy(now, tidyEachWrite)
	return nil
}

// publish makes a hash lead to ref instead of old, 0: nothing.
func (m *Map) publish(hash uint64, old, ref record.Ref, now time.Duration) error {
	v, err := m.heap.View(ref, nil)
	if err != nil {
		return fmt.Errorf("kv: publish: %w", err)
	}
	revision := v.Revision
	before := int64(0)
	if m.cache != nil {
		before = m.weigh(old)
	}
	if mutant == killFirst && old != 0 {
		_ = m.heap.Kill(old, now)
	}
	if old != 0 {
		err = m.index.Replace(hash, uint64(old), uint64(ref))
	} else {
		err = m.index.Insert(hash, uint64(ref))
	}
	if err != nil {
		return errors.Join(err, m.heap.Kill(ref, now))
	}
	if mutant == killBetween && old != 0 {
		_ = m.heap.Kill(old, now)
	}
	if m.follow != nil && mutant != notFollowed {
		if err := m.follow(old, ref); err != nil {
			return m.undo(hash, old, ref, err)
		}
	}
	m.revision = max(m.revision, revision)
	m.counts.Puts++
	if m.cache != nil {
		m.cache.published(&v, ref, before)
	}
	if old != 0 && mutant != killFirst && mutant != killBetween && mutant != neverDead {
		err = m.heap.Kill(old, m.diedAt(now)) // It fails if the index led to no record.
	}
	if m.waiters > 0 {
		m.wake(ref)
	}
	return err
}

// undo makes a hash lead to old again instead of ref, 0: nothing. It returns why.
func (m *Map) undo(hash uint64, old, ref record.Ref, why error) error {
	if mutant == undoneLate {
		why = errors.Join(why, m.heap.Kill(ref, m.now()))
	}
	switch {
	case mutant == notUndone:
	case old != 0:
		why = errors.Join(why, m.index.Replace(hash, uint64(ref), uint64(old)))
	default:
		why = errors.Join(why, m.index.Delete(hash, uint64(ref)))
	}
	if mutant == undoneLate || mutant == undoneAlive {
		return why
	}
	return errors.Join(why, m.heap.Kill(ref, m.diedAt(0)))
}

// diedAt is when a record dies to which nothing leads any more: now, not when the write
// began (follow.go).
func (m *Map) diedAt(began time.Duration) time.Duration {
	if mutant == deadAtFirst {
		return began
	}
	return m.now()
}

// Peek returns the revision and the expiry of the key's record, also if it has expired;
// 0: the key has none.
func (m *Map) Peek(key []byte) (revision uint64, expiry time.Duration) {
	if m.lock() != nil {
		return 0, 0
	}
	defer m.mu.Unlock()
	if ref, _, _ := m.find(cuckoo.Hash(m.seed, key), key, m.now()); ref != 0 {
		if v, err := m.heap.View(ref, key); err == nil {
			return v.Revision, time.Duration(v.Expiry)
		}
	}
	return 0, 0
}

// GetExpired returns the key's record if it has expired, and is not removed yet. The
// View is good until the buffer is used again. Unlike Get, it takes the lock.
// ErrNotFound: the key has no record, or that has not expired.
func (m *Map) GetExpired(key []byte, b *Buffer) (record.View, error) {
	if err := m.lock(); err != nil {
		return record.View{}, err
	}
	defer m.mu.Unlock()
	if m.mortal == 0 {
		return record.View{}, ErrNotFound
	}
	now := m.now()
	ref, _, _ := m.find(cuckoo.Hash(m.seed, key), key, now)
	if ref == 0 {
		return record.View{}, ErrNotFound
	}
	v, err := m.copyTo(b, ref, key)
	if err == nil && !expired(v.Expiry, now) {
		err = ErrNotFound
	}
	return v, err
}

// Delete removes a key's record. If the key has none it returns ErrNotFound.
func (m *Map) Delete(key []byte, c Condition) error { return m.DeleteAs(key, c, 0) }

// DeleteAs is a Delete with the revision of the write, above those of all writes
// before; 0: the next one.
func (m *Map) DeleteAs(key []byte, c Condition, revision uint64) error {
	hash := cuckoo.Hash(m.seed, key)
	m.index.Prefetch(hash)
	if err := m.lock(); err != nil {
		return err
	}
	defer m.mu.Unlock()
	now := m.now()
	ref, has, mortal := m.find(hash, key, now)
	if err := c.Check(key, has); err != nil {
		return err
	}
	// A record that has expired counts as deleted, but may be kept until it is.
	if ref == 0 || has == 0 && m.expired == nil {
		return fmt.Errorf("%w: %q", ErrNotFound, key)
	}
	if err := m.remove(hash, ref, revision, now); err != nil {
		return err
	}
	m.count(mortal, false)
	m.counts.Deletes++
	m.tidy(now, tidyEachWrite)
	return nil
}

// remove makes the index drop a record, which then is dead.
func (m *Map) remove(hash uint64, ref record.Ref, revision uint64, now time.Duration) error {
	if err := m.index.Delete(hash, uint64(ref)); err != nil {
		return err
	}
	if m.follow != nil && mutant != notFollowed {
		if err := m.follow(ref, 0); err != nil {
			if mutant == notUndone {
				return err
			}
			return errors.Join(err, m.index.Insert(hash, uint64(ref)))
		}
	}
	m.revision = max(m.revision+1, revision)
	if m.cache != nil {
		m.cache.bytes -= m.weigh(ref)
	}
	if mutant == neverDead {
		return nil
	}
	return m.heap.Kill(ref, m.diedAt(now))
}
