package disk

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Keys goes through the keys of a collection in the order of their bytes. It is
// for one goroutine, sees what was acknowledged when it was made, and holds files:
// close it soon.
type Keys struct {
	e  *engine
	it *pebble.Iterator
	ok bool
	at bool // Next was called since the last seek
}

// Keys stands before the first key that is not less than from.
func (db *DB) Keys(collection uint32, from []byte) (*Keys, error) {
	e, iters, err := db.reader()
	if err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	it, err := iters(&pebble.IterOptions{
		LowerBound: collectionKey(statePrefix, collection),
		UpperBound: collectionEnd(statePrefix, collection),
	})
	if err != nil {
		e.release()
		return nil, err
	}
	return &Keys{e: e, it: it, ok: it.SeekGE(stateKey(collection, from))}, nil
}

// Next goes to the next key, the first one at first.
func (k *Keys) Next() bool {
	if k.at && k.ok {
		k.ok = k.it.Next()
	}
	k.at = true
	return k.ok
}

// Key is where Next went, until the next call of it.
func (k *Keys) Key() []byte { return k.it.Key()[collectionBytes:] }

// ValueBytes is the size of its value, which is not read for it if it is apart from the key.
func (k *Keys) ValueBytes() int {
	v := k.it.LazyValue()
	return max(v.Len()-stateHeader, 0)
}

// Value is its value, until the next call of Next.
func (k *Keys) Value() ([]byte, error) {
	v, err := k.it.ValueAndErr()
	if err == nil && len(v) < stateHeader {
		err = fmt.Errorf("%w: a value of %d bytes, want %d or more", ErrCorrupt, len(v), stateHeader)
	}
	if err != nil {
		return nil, corrupt(err)
	}
	return v[stateHeader:], nil
}

// Err is what ended the iteration, nil at the end.
func (k *Keys) Err() error { return corrupt(k.it.Error()) }

// Close must be called, once.
func (k *Keys) Close() error {
	err := k.it.Close()
	k.e.release()
	return err
}
