package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
)

// put sends features, as many as fit in each message.
func (r *remoteFeatures) Put(ctx context.Context, fs []model.Feature, cond kv.Condition, results []model.PutResult) error {
	var w attempt
	first := r.c.conn.names(len(fs))
	for n := 0; n < len(fs); {
		w.name.Number = first + uint64(n)
		if n >= w.tried {
			w.sent = nil // None of the rest was sent before.
		}
		sent, err := r.putSome(ctx, &w, n, fs[n:], cond, results[n:])
		if err != nil {
			for i := range results[n:] {
				if results[n+i].Err == nil && results[n+i].Revision == 0 {
					results[n+i].Err = err
				}
			}
			if n > 0 {
				err = &wire.PartlyDone{Done: n, Err: err}
			}
			return err
		}
		for i := range results[n : n+sent] {
			if p := &results[n+i]; errors.Is(p.Err, model.ErrMoved) {
				p.Err = w.outcome(p.Err) // An attempt before may have been made.
			}
		}
		if done := r.settled(&w, results[n:n+sent]); done < sent && w.waits.more(ctx, r.c.conn) {
			sent = done
		} else {
			w.waits = refusals{}
		}
		n += sent
	}
	return nil
}

// settled counts the results before those of the features that are to be sent to another
// primary: it refused them, or their outcome is unknown and they have names. Without names
// none after them was stored.
func (r *remoteFeatures) settled(w *attempt, results []model.PutResult) int {
	named := w.name.Client != 0
	lost := func(p model.PutResult) bool { return named && errors.Is(p.Err, model.ErrUnknownOutcome) }
	n := slices.IndexFunc(results, func(p model.PutResult) bool { return errors.Is(p.Err, model.ErrNotPrimary) || lost(p) })
	if n < 0 || !named && slices.ContainsFunc(results[n:], func(p model.PutResult) bool { return p.Err == nil }) {
		return len(results)
	}
	if slices.ContainsFunc(results, lost) {
		w.sent = r.c.conn.sessions.latest()
	}
	return n
}

// putSome sends one message, of features from number at on.
func (r *remoteFeatures) putSome(ctx context.Context, w *attempt, at int, fs []model.Feature, cond kv.Condition, results []model.PutResult) (sent int, err error) {
	var up uploading
	defer up.end()
	says := false
	ans, err := r.c.requestAs(ctx, w, nil, wire.KindStore, func(s *session) (*openSlab, []byte, error) {
		up.end() // of a lost session
		o, err := r.open(ctx, s, wire.KindStore)
		if err != nil {
			return o, nil, err
		}
		most := wire.MaxPayload
		if m, ok := s.caller.(interface{ MaxPayload() int }); ok {
			most = m.MaxPayload()
			if s.takes(wire.KindStore) {
				most -= wire.NameBytes
			}
		}
		if cond.IfPresent && !s.knows(wire.KindAppend) {
			return o, nil, s.cannot(ifPresent)
		}
		b := wire.AppendHead(nil, o.coll, 0)
		sent = 0
		for i := range min(len(fs), wire.MaxStore) {
			f := fs[i]
			if f.ID == "" {
				f.ID = results[i].ID // that of an earlier attempt
			}
			id, value, err := query.Encode(query.Feature(f), o.space)
			if err != nil {
				results[i].Err = err
				if i == 0 {
					return o, nil, err
				}
				break // The feature has a message of its own, which fails.
			}
			p := wire.Stored{Cond: wire.ConditionOf(cond), Revision: cond.IfRevision, Expiry: query.Expiry(fs[i].Expires), Id: id, Value: value}
			n := len(b)
			if b = p.Append(b); len(b) > most && i > 0 {
				b = b[:n]
				break
			}
			results[i] = model.PutResult{ID: id}
			sent++
			if len(b) > most {
				number, err := r.upload(ctx, s, o, &up, value)
				if err != nil {
					return o, nil, err
				}
				p.Cond, p.Value = p.Cond|wire.PutParts, number
				b = p.Append(b[:n])
				break
			}
		}
		n := uint32(sent)
		if says = s.hello.Replaces; says {
			n |= wire.StoreSays
		}
		wire.PutArgument(b, n)
		w.tried = max(w.tried, at+sent)
		return o, b, nil
	})
	if err != nil {
		if errors.Is(err, fault.ErrFeature) && results[0].Err != nil && len(fs) > 1 {
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
func takeResults(ans []byte, says bool, results []model.PutResult) error {
	for i := range results {
		if len(ans) < 8 {
			return fmt.Errorf("%w: %d features stored, answered with %d results", model.ErrProtocol, len(results), i)
		}
		results[i].Revision = binary.LittleEndian.Uint64(ans)
		if ans = ans[8:]; results[i].Revision != 0 {
			if !says {
				continue
			}
			if len(ans) < 1 || ans[0] > 1 {
				return fmt.Errorf("%w: whether a feature was replaced ends with %d bytes", model.ErrProtocol, len(ans))
			}
			results[i].Replaced, results[i].Created = ans[0] == 1, ans[0] == 0
			ans = ans[1:]
			continue
		}
		if len(ans) < 4 || uint64(binary.LittleEndian.Uint32(ans)) > uint64(len(ans)-4) {
			return fmt.Errorf("%w: a failure of %d bytes", model.ErrProtocol, len(ans))
		}
		n := 4 + int(binary.LittleEndian.Uint32(ans))
		results[i].Err = wire.GetFailure(ans[4:n])
		ans = ans[n:]
	}
	if len(ans) > 0 {
		return fmt.Errorf("%w: results with %d bytes behind them", model.ErrProtocol, len(ans))
	}
	return nil
}

func (r *remoteFeatures) open(ctx context.Context, s *session, kind fastmsg.Kind) (*openSlab, error) {
	return s.openKind(ctx, r.c.collection, ofFeatures, kind)
}

// change sends an erase or patch.
func (r *remoteFeatures) change(ctx context.Context, kind fastmsg.Kind, id string, patch []byte, cond kv.Condition) (uint64, error) {
	ans, err := r.c.request(ctx, kind, func(s *session) (*openSlab, []byte, error) {
		o, err := r.open(ctx, s, kind)
		if err != nil {
			return o, nil, err
		}
		if cond.IfPresent && !s.knows(wire.KindAppend) {
			return o, nil, s.cannot(ifPresent)
		}
		b := wire.AppendRevision(wire.AppendHead(nil, o.coll, wire.ConditionOf(cond)), cond.IfRevision)
		return o, append(wire.AppendText(b, id), patch...), nil
	})
	if err != nil {
		return 0, err
	}
	return wire.GetRevision(ans)
}

func (r *remoteFeatures) Patch(ctx context.Context, id string, patch []byte, cond kv.Condition) (uint64, error) {
	return r.change(ctx, wire.KindPatch, id, patch, cond)
}

func (r *remoteFeatures) Erase(ctx context.Context, id string, cond kv.Condition) (uint64, error) {
	return r.change(ctx, wire.KindErase, id, nil, cond)
}

func (r *remoteFeatures) EraseWhere(ctx context.Context, q query.Query) (int, error) {
	ans, err := r.c.request(ctx, wire.KindEraseWhere, func(s *session) (*openSlab, []byte, error) {
		o, err := r.open(ctx, s, wire.KindEraseWhere)
		if err != nil {
			return o, nil, err
		}
		b, err := wire.AppendFindQuery(wire.AppendHead(nil, o.coll, 0), &q, o.space)
		return o, b, err
	})
	return erased(ans, err)
}

// erased reads the answer to an eraseWhere: an error counts the deleted ones, too.
func erased(ans []byte, err error) (int, error) {
	if err != nil {
		var r *wire.RemoteError
		if errors.As(err, &r) {
			return int(min(r.Done, math.MaxInt)), err
		}
		return 0, err
	}
	if len(ans) != 8 {
		return 0, fmt.Errorf("%w: %d bytes answered, want 8", model.ErrProtocol, len(ans))
	}
	return int(min(binary.LittleEndian.Uint64(ans), math.MaxInt)), nil
}
