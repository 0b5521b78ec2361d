package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/watched"
)

// Keys are the keys of a file. All methods are safe for concurrent use.
type Keys struct {
	file string
	log  *slog.Logger
	now  func() time.Time
	stat *watched.Files

	mu      sync.Mutex // held to replace present
	present atomic.Pointer[map[string]*Principal]
}

// Open reads a file of keys. now is the clock, nil: the system's.
func Open(file string, log *slog.Logger, now func() time.Time) (*Keys, error) {
	if now == nil {
		now = time.Now
	}
	k := &Keys{file: file, log: log, now: now, stat: watched.New(file)}
	k.present.Store(&map[string]*Principal{})
	if err := k.Reload(); err != nil {
		return nil, err
	}
	return k, nil
}

// noHash is compared with the key's hash if no entry has the id.
var noHash [sha256.Size]byte

// Authenticate returns the Principal of a key. The error wraps ErrUnauthenticated.
func (k *Keys) Authenticate(key string) (*Principal, error) {
	if key == "" {
		return nil, fmt.Errorf("%w: there is none", ErrUnauthenticated)
	}
	id, ok := cutKey(key)
	if !ok {
		return nil, fmt.Errorf("%w: %d bytes that are no key, want %s and %d more", ErrUnauthenticated,
			len(key), keyPrefix, keyBytes-len(keyPrefix))
	}
	want, p := &noHash, (*k.present.Load())[id]
	if p != nil {
		want = &p.rule.hash
	}
	var text [keyBytes]byte // A conversion would allocate.
	copy(text[:], key)
	sum := sha256.Sum256(text[:])
	if same := subtle.ConstantTimeCompare(sum[:], want[:]); same == 0 || p == nil || p.Ended() || p.expired(k.now()) {
		return nil, ErrUnauthenticated
	}
	return p, nil
}

// Check is Authenticate, Principal.Admit and Principal.Check.
func (k *Keys) Check(key, collection string, need Role) (*Principal, error) {
	p, err := k.Authenticate(key)
	if err != nil {
		return nil, err
	}
	if err := p.Admit(); err != nil {
		return nil, err
	}
	return p, p.Check(collection, need)
}

// Len is how many keys there are.
func (k *Keys) Len() int { return len(*k.present.Load()) }

// Reload reads the file. Without an error, Authenticate answers by the new file from now
// on; with one, nothing has changed.
func (k *Keys) Reload() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	all, err := ReadFile(k.file)
	if err != nil {
		return err
	}
	old := *k.present.Load()
	next := make(map[string]*Principal, len(all))
	now := k.now()
	for _, e := range all {
		if p := old[e.ID]; p != nil && p.entry.equal(&e) && !p.Ended() {
			next[e.ID] = p
			continue
		}
		r, err := e.rule()
		if err != nil { // Parse has checked it.
			return fmt.Errorf("%s: %w: %w", k.file, ErrFile, err)
		}
		if p := newPrincipal(e, r, k.now); !p.expired(now) {
			next[e.ID] = p
		}
	}
	k.present.Store(&next)
	for id, p := range old {
		if next[id] != p {
			p.finish()
		}
	}
	return nil
}

// Poll reads the file if it has changed, and ends the keys that have expired.
func (k *Keys) Poll() {
	if changed, err := k.stat.Changed(); changed {
		if err == nil {
			err = k.Reload()
		}
		if err != nil {
			k.log.Error("keys not reloaded, the old ones stay", "file", k.file, "err", err)
		} else {
			k.log.Info("keys reloaded", "file", k.file, "keys", k.Len())
		}
	}
	now := k.now()
	for _, p := range *k.present.Load() {
		if p.expired(now) && !p.Ended() {
			p.finish()
		}
	}
}

// PollInterval is how soon Watch notices. A stat costs a few microseconds, and
// a revocation should take effect soon.
const PollInterval = time.Second

// Watch polls until ctx is done.
func (k *Keys) Watch(ctx context.Context) {
	t := time.NewTicker(PollInterval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			k.Poll()
		case <-ctx.Done():
			return
		}
	}
}
