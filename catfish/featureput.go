package catfish

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/query"
)

// put sends features, as many as fit in each message.
func (r *remoteFeatures) put(ctx context.Context, fs []Feature, cond kv.Condition, results []PutResult) error {
	for n := 0; n < len(fs); {
		sent, err := r.putSome(ctx, fs[n:], cond, results[n:])
		if err != nil {
			for i := range results[n:] {
				if results[n+i].Err == nil && results[n+i].Revision == 0 {
					results[n+i].Err = err
				}
			}
			if n > 0 {
				err = &partlyDone{n, err}
			}
			return err
		}
		n += sent
	}
	return nil
}

// putSome sends one message.
func (r *remoteFeatures) putSome(ctx context.Context, fs []Feature, cond kv.Condition, results []PutResult) (sent int, err error) {
	var up uploading
	defer up.end()
	says := false
	ans, err := r.c.request(ctx, kindStore, func(s *session) (*openSlab, []byte, error) {
		up.end() // of a lost session
		o, err := r.open(ctx, s, kindStore)
		if err != nil {
			return o, nil, err
		}
		most := maxRequest - frameBytes
		if m, ok := s.caller.(interface{ MaxPayload() int }); ok {
			most = m.MaxPayload()
		}
		b := appendHead(nil, o.coll, 0)
		sent = 0
		for i := range min(len(fs), maxStore) {
			id, value, err := query.Encode(store.Feature(fs[i]), o.space)
			if err != nil {
				results[i].Err = err
				if i == 0 {
					return o, nil, err
				}
				break // The feature has a message of its own, which fails.
			}
			p := stored{cond: conditionOf(cond), revision: cond.IfRevision, expiry: query.Expiry(fs[i].Expires), id: id, value: value}
			n := len(b)
			if b = p.append(b); len(b) > most && i > 0 {
				b = b[:n]
				break
			}
			results[i] = PutResult{ID: id}
			sent++
			if len(b) > most {
				number, err := r.upload(ctx, s, o, &up, value)
				if err != nil {
					return o, nil, err
				}
				p.cond, p.value = p.cond|putParts, number
				b = p.append(b[:n])
				break
			}
		}
		n := uint32(sent)
		if says = s.hello.Replaces; says {
			n |= storeSays
		}
		putArgument(b, n)
		return o, b, nil
	})
	if err != nil {
		if errors.Is(err, store.ErrFeature) && results[0].Err != nil && len(fs) > 1 {
			return 1, nil // Its result has the error.
		}
		if sent == 1 && (errors.Is(err, kv.ErrExists) || errors.Is(err, kv.ErrConflict)) {
			results[0].Err = err
			return 1, nil // The others do not depend on it.
		}
		return 0, err
	}
	return sent, takeResults(ans, says, results[:sent])
}

// takeResults reads the answer to a store. says: the server says which features were
// replaced.
func takeResults(ans []byte, says bool, results []PutResult) error {
	for i := range results {
		if len(ans) < 8 {
			return fmt.Errorf("%w: %d features stored, answered with %d results", ErrProtocol, len(results), i)
		}
		results[i].Revision = binary.LittleEndian.Uint64(ans)
		if ans = ans[8:]; results[i].Revision != 0 {
			if !says {
				continue
			}
			if len(ans) < 1 || ans[0] > 1 {
				return fmt.Errorf("%w: whether a feature was replaced ends with %d bytes", ErrProtocol, len(ans))
			}
			results[i].Replaced, results[i].Created = ans[0] == 1, ans[0] == 0
			ans = ans[1:]
			continue
		}
		if len(ans) < 4 || uint64(binary.LittleEndian.Uint32(ans)) > uint64(len(ans)-4) {
			return fmt.Errorf("%w: a failure of %d bytes", ErrProtocol, len(ans))
		}
		n := 4 + int(binary.LittleEndian.Uint32(ans))
		results[i].Err = getFailure(ans[4:n])
		ans = ans[n:]
	}
	if len(ans) > 0 {
		return fmt.Errorf("%w: results with %d bytes behind them", ErrProtocol, len(ans))
	}
	return nil
}

func (r *remoteFeatures) open(ctx context.Context, s *session, kind fastmsg.Kind) (*openSlab, error) {
	o, err := s.openChecked(ctx, r.c.collection, kind)
	if err == nil {
		err = o.isOf(KindFeatures)
	}
	return o, err
}

// change sends an erase or patch.
func (r *remoteFeatures) change(ctx context.Context, kind fastmsg.Kind, id string, patch []byte, cond kv.Condition) (uint64, error) {
	ans, err := r.c.request(ctx, kind, func(s *session) (*openSlab, []byte, error) {
		o, err := r.open(ctx, s, kind)
		if err != nil {
			return o, nil, err
		}
		b := appendRevision(appendHead(nil, o.coll, conditionOf(cond)), cond.IfRevision)
		return o, append(appendText(b, id), patch...), nil
	})
	if err != nil {
		return 0, err
	}
	return getRevision(ans)
}

func (r *remoteFeatures) patch(ctx context.Context, id string, patch []byte, cond kv.Condition) (uint64, error) {
	return r.change(ctx, kindPatch, id, patch, cond)
}

func (r *remoteFeatures) erase(ctx context.Context, id string, cond kv.Condition) (uint64, error) {
	return r.change(ctx, kindErase, id, nil, cond)
}

func (r *remoteFeatures) eraseWhere(ctx context.Context, q store.Query) (int, error) {
	ans, err := r.c.request(ctx, kindEraseWhere, func(s *session) (*openSlab, []byte, error) {
		o, err := r.open(ctx, s, kindEraseWhere)
		if err != nil {
			return o, nil, err
		}
		b, err := appendFindQuery(appendHead(nil, o.coll, 0), &q, o.space)
		return o, b, err
	})
	return erased(ans, err)
}

// erased reads the answer to an eraseWhere: an error counts the deleted ones, too.
func erased(ans []byte, err error) (int, error) {
	if err != nil {
		var r *remoteError
		if errors.As(err, &r) {
			return int(min(r.done, math.MaxInt)), err
		}
		return 0, err
	}
	if len(ans) != 8 {
		return 0, fmt.Errorf("%w: %d bytes answered, want 8", ErrProtocol, len(ans))
	}
	return int(min(binary.LittleEndian.Uint64(ans), math.MaxInt)), nil
}
