package whole

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
)

// Writes of several groups
//
// Each group has a queue. What is put while a batch is under way goes together in the next one,
// so that many uploads share the round trips and the commits. A group gets the puts of an id in
// their order, also if it refuses them at first, as it is no primary or its slots move; but those
// of an id whose group changes while several of them wait may change places. What has an unknown
// outcome is not repeated.

const (
	// putAtOnce and putBytes bound a batch.
	putAtOnce, putBytes = 512, 2 << 20
	// putTime is how long a batch is waited for: then its outcome is unknown.
	putTime = 30 * time.Second
	// putPause is before what was refused is put again.
	putPause = 20 * time.Millisecond
)

// queue has the puts of one group.
type queue struct {
	mu      sync.Mutex
	waiting []put
	sending bool // there is a goroutine that sends
}

// put stores features. done is called for each.
func (k *Groups) put(all ...put) { k.enqueue(all, false) }

// enqueue divides puts among the queues. first: they come before those that wait.
func (k *Groups) enqueue(all []put, first bool) {
	v := k.view()
	if v == nil {
		for _, p := range all {
			p.done(store.Stored{Err: fmt.Errorf("%w: this member has no map of groups any more", fault.ErrNotReady)})
		}
		return
	}
	for g, of := range byGroup(v, all) {
		k.queueOf(g, v).add(k, of, first)
	}
}

// byGroup divides puts among groups. Those of a group stay in their order.
func byGroup(v *View, all []put) map[int][]put {
	of := map[int][]put{}
	for _, p := range all {
		g := int(v.Map.Of([]byte(p.ID)))
		of[g] = append(of[g], p)
	}
	return of
}

func (k *Groups) queueOf(g int, v *View) *queue {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := v.Map.Groups[g].Name
	q := k.queues[name]
	if q == nil {
		q = new(queue)
		k.queues[name] = q
	}
	return q
}

func (q *queue) add(k *Groups, of []put, first bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if first {
		q.waiting = slices.Concat(of, q.waiting)
	} else {
		q.waiting = append(q.waiting, of...)
	}
	if !q.sending {
		q.sending = true
		go q.send(k)
	}
}

// send sends batches until none wait.
func (q *queue) send(k *Groups) {
	for {
		batch := q.next()
		if batch == nil {
			return
		}
		if left := k.putBatch(batch); len(left) > 0 {
			<-time.After(putPause)
			k.enqueue(left, true)
		}
	}
}

// next takes a batch of one collection, nil: none wait.
func (q *queue) next() []put {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, size := 0, 0
	for n < len(q.waiting) && n < putAtOnce && q.waiting[n].collection == q.waiting[0].collection {
		if size += len(q.waiting[n].Value) + len(q.waiting[n].ID); size > putBytes && n > 0 {
			break
		}
		n++
	}
	q.sending = n > 0
	if n == 0 {
		q.waiting = nil
		return nil
	}
	batch := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	return batch
}

// putBatch puts a batch, and returns what is to be tried again.
func (k *Groups) putBatch(batch []put) (left []put) {
	settle := func(p put, s store.Stored) {
		if again(s.Err) {
			k.o.Reread()
		}
		if again(s.Err) && time.Now().Before(p.until) {
			left = append(left, p)
			return
		}
		p.done(s)
	}
	v := k.view()
	if v == nil {
		return batch // which enqueue refuses
	}
	for g, of := range byGroup(v, batch) { // By the present map they may be of several.
		a, err := k.putPart(v, g, of)
		for i, p := range of {
			s := store.Stored{Err: err}
			if err == nil {
				s = a.Stored[i].stored()
			}
			settle(p, s)
		}
	}
	return left
}

func (k *Groups) putPart(v *View, g int, of []put) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), putTime)
	defer cancel()
	a, err := k.ask(ctx, v, g, &request{Op: opPut, Collection: of[0].collection, puts: of}, nil)
	if err == nil && len(a.Stored) != len(of) {
		err = fmt.Errorf("%w: %w: %d outcomes of %d puts", fault.ErrUnknownOutcome, errFormat, len(a.Stored), len(of))
	}
	if err != nil {
		return a, v.ofGroup(g, err)
	}
	return a, nil
}

// erase is Collection.DeleteWhere. What is deleted already is not found again. With a limit the
// groups are asked in order.
func (k *Groups) erase(ctx context.Context, c *store.Collection, q store.Query) (deleted int, err error) {
	t, err := textOf(&q, c.Options().Space)
	if err != nil {
		return 0, err
	}
	if q.Rest != nil {
		q.Rest()
	}
	var mu sync.Mutex
	err = k.byMap(ctx, func(v *View) error {
		ask := func(ctx context.Context, _, g int) error {
			r, q := request{Op: opErase, Epoch: v.Map.Epoch, Collection: c.Name()}, *t
			r.Query = &q
			a, err := k.ask(ctx, v, g, &r, nil)
			mu.Lock()
			defer mu.Unlock()
			if deleted += a.N; t.Limit > 0 {
				t.Limit -= a.N
			}
			return err
		}
		if t.Limit == 0 {
			return k.fromAll(ctx, v, v.having(), ask)
		}
		for _, g := range v.having() {
			if err := k.fromAll(ctx, v, []int{g}, ask); err != nil {
				return err
			}
			if t.Limit <= 0 {
				break
			}
		}
		return nil
	})
	return deleted, err
}

// manage creates, alters or drops a collection in all groups, in order. An error
// says which groups have done it.
func (k *Groups) manage(ctx context.Context, r request) error {
	return k.byMap(ctx, func(v *View) error {
		var done []string
		for _, g := range v.every() {
			if _, err := k.ask(ctx, v, g, &r, nil); err != nil {
				if err = v.ofGroup(g, err); len(done) > 0 {
					err = fmt.Errorf("%w; done in %q: do it again for the others", err, done)
				}
				return err
			}
			done = append(done, v.Map.Groups[g].Name)
		}
		if now := k.view(); now == nil || !slices.EqualFunc(now.Map.Groups, v.Map.Groups, func(a, b placement.Group) bool { return a.Name == b.Name }) {
			return fmt.Errorf("%w: there are other groups", fault.ErrMoved)
		}
		return nil
	})
}
