package whole

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

// give gets a feature, which is valid until it returns, and its tag (cells.go). It returns false
// if no more are wanted.
type give func(f *store.Found, tag int32) (more bool, err error)

// part answers a request about what this group has.
type part struct {
	*Groups
	ctx  context.Context
	st   *store.Store
	c    *store.Collection
	r    *request
	turn limits.Pacer
	hold func(int64) error // memory
	give give
}

// part answers a request of this group, or of another one. hold is called with the bytes that
// the answer keeps.
func (k *Groups) part(ctx context.Context, source string, r *request, hold func(int64) error, g give) (a answer, err error) {
	st := k.st.Load()
	if st == nil {
		return a, fmt.Errorf("the server has yet to load its features: %w", fault.ErrNotReady)
	}
	p := part{Groups: k, ctx: ctx, st: st, r: r, hold: hold, give: g, turn: limits.Pacer{Of: k.o.Host, Ctx: ctx, Source: source}}
	defer p.turn.End()
	read := st.Reading(store.AtPrimary)
	if err := p.sameEpoch(); err != nil {
		return a, err
	}
	if a, err = p.answered(); err != nil {
		return a, p.waiting(err)
	}
	if !r.Op.changes() {
		err = read.Err()
	}
	if err == nil && r.Op != opErase { // What was deleted stays so.
		err = p.sameEpoch()
	}
	return a, err
}

// waiting makes an error of a busy store errWait if slots move.
func (p *part) waiting(err error) error {
	if s, ok := p.st.Slots(); ok && errors.Is(err, fault.ErrBusy) && (s.Frozen != store.SlotSet{} || s.Closed != store.SlotSet{}) {
		return fmt.Errorf("%w: %w", err, errWait)
	}
	return err
}

func (p *part) sameEpoch() error {
	if is := p.st.Epoch(); p.r.Epoch != 0 && is != p.r.Epoch {
		return fmt.Errorf("%w: the request is by the map of epoch %d, this group's is of epoch %d", fault.ErrMoved, p.r.Epoch, is)
	}
	return nil
}

func (p *part) answered() (a answer, err error) {
	switch p.r.Op {
	case opCreate, opAlter, opDrop:
		return a, p.manage()
	case opFindBoxes, opCountBoxes, opWriteBoxes:
		return p.ofBoxes()
	}
	if p.c, err = p.st.Collection(p.r.Collection); err != nil {
		return a, err
	}
	switch p.r.Op {
	case opPage, opStream, opCount, opErase, opBoxes, opCells:
		return p.search()
	case opNear:
		q, err := p.r.Near.query(p.o.Compile)
		if err != nil {
			return a, err
		}
		q.Pace, q.Hold = p.turn.Pause, p.hold
		return a, p.c.Nearest(p.ctx, q, func(f *store.Found) (bool, error) { return p.give(f, 0) })
	case opLen:
		a.N = p.c.Len()
		return a, nil
	case opGet:
		return a, p.c.GetMany(p.ctx, p.r.IDs, func(i int, f *store.Found) (bool, error) {
			if f == nil {
				return true, nil
			}
			return p.give(f, int32(i))
		})
	case opDescribe, opSchema:
		describe := p.c.Describe
		if p.r.Op == opSchema {
			describe = p.c.Schema
		}
		d, err := describe()
		a.Description = &d
		return a, err
	case opPut:
		return p.put()
	case opPatch:
		a.Revision, err = p.c.Patch(p.ctx, p.r.IDs[0], p.r.Patch, p.r.If)
		return a, err
	case opWatch:
		return a, p.watch()
	case opDelete:
		a.Revision, err = p.c.Delete(p.ctx, p.r.IDs[0], p.r.If)
		return a, err
	}
	return a, fmt.Errorf("%w: request %.20q", errFormat, p.r.Op)
}

func (p *part) search() (a answer, err error) {
	q, err := p.r.Query.query(p.o.Compile)
	if err != nil {
		return a, err
	}
	q.Pace, q.Hold = p.turn.Pause, p.hold
	switch p.r.Op {
	case opPage:
		return p.page(q)
	case opErase:
		q.Rest = p.turn.End
		a.N, err = p.c.DeleteWhere(p.ctx, q)
		return a, err
	case opBoxes:
		return p.boxes(q)
	case opCells:
		return p.cells()
	case opCount:
		err = p.c.Search(p.ctx, q, func(*store.Found) (bool, error) { a.N++; return true, nil })
		return a, err
	}
	if s := p.r.Sample; s != nil {
		q.Sample = s.sample().Wants
	}
	return a, p.c.Search(p.ctx, q, func(f *store.Found) (bool, error) { return p.give(f, 0) })
}

// page finds a page before it gives it: a search must not wait for the network.
func (p *part) page(q store.Query) (a answer, err error) {
	q.Order = query.ByID
	ready, err := p.c.Prepare(q)
	if err != nil {
		return a, err
	}
	var found []store.Found
	size := int64(0)
	searching := int64(0)
	ready.Hold = func(n int64) error {
		searching = n
		return p.hold(searching + size)
	}
	b := buffers.Get().(*store.Buffer)
	defer buffers.Put(b)
	err = p.c.SearchWith(p.ctx, ready, b, func(f *store.Found) (bool, error) {
		n := int64(len(f.ID) + len(f.Value) + foundBytes)
		if len(found) > 0 && size+n > pageBytes {
			a.More = true
			return false, nil
		}
		size += n
		found = append(found, f.Clone())
		return true, p.hold(searching + size)
	})
	if err != nil {
		return a, err
	}
	a.More = a.More || len(found) == q.Limit
	if q.Count {
		a.Matched = b.Matched
	}
	for i := range found {
		if more, err := p.give(&found[i], 0); !more || err != nil {
			return a, err
		}
	}
	return a, nil
}

var buffers = sync.Pool{New: func() any { return new(store.Buffer) }}

// put stores features, together if they have no conditions.
func (p *part) put() (a answer, err error) {
	if err := p.o.Host.CheckMemory(); err != nil {
		return a, err
	}
	a.Stored = make([]storedText, len(p.r.puts))
	done := make(chan struct{}, len(p.r.puts))
	take := func(i int, s store.Stored) {
		a.Stored[i] = storedText{Revision: s.Revision, Replaced: s.Replaced}
		if s.Err != nil {
			a.Stored[i] = storedText{Err: failureOf(p.waiting(s.Err), 0)}
		}
		done <- struct{}{}
	}
	var together []store.EncodedFeature
	first := 0
	flush := func() {
		if at := first; len(together) > 0 {
			p.c.PutTogether(together, func(i int, s store.Stored) { take(at+i, s) })
		}
		together = nil
	}
	for i := range p.r.puts {
		t := &p.r.puts[i]
		if !t.conditional() {
			if len(together) == 0 {
				first = i
			}
			together = append(together, t.EncodedFeature)
			continue
		}
		flush()
		p.c.PutEncoded(t.ID, t.Value, t.Expires, t.cond, func(revision uint64, err error) { take(i, store.Stored{Revision: revision, Err: err}) })
	}
	flush()
	for range p.r.puts {
		select {
		case <-done:
		case <-p.ctx.Done():
			return answer{}, fmt.Errorf("%w: %w", fault.ErrUnknownOutcome, context.Cause(p.ctx))
		}
	}
	return a, nil
}

// manage creates, alters or drops a collection. All of it may be repeated: a group in which it
// was done before has nothing to do.
func (p *part) manage() error {
	name := p.r.Collection
	switch p.r.Op {
	case opCreate:
		if err := p.o.Host.CheckMemory(); err != nil {
			return err
		}
		_, err := p.st.CreateFeatures(name, *p.r.Options)
		return err
	case opAlter:
		err := p.st.Alter(name, *p.r.Options)
		if errors.Is(err, fault.ErrUnknownCollection) { // Its creation has failed here.
			_, err = p.st.CreateFeatures(name, *p.r.Options)
		}
		return err
	}
	_, err := p.st.DropFeatures(name)
	if errors.Is(err, fault.ErrUnknownCollection) {
		return nil
	}
	return err
}
