package whole

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"

	"github.com/catfish-index/catfish/internal/door"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
)

// quiet drops net/http's log.
var quiet = log.New(io.Discard, "", 0)

// localSource has the scheduling slots of this member's own part of an answer.
const localSource = "several groups"

// ask asks a group. An error that is not the group's own says whether the request was sent:
// door.ErrDial, fault.ErrUnknownOutcome of a write.
func (k *Groups) ask(ctx context.Context, v *View, g int, r *request, give give) (answer, error) {
	if g == int(v.Self) {
		return k.own(ctx, r, give)
	}
	addr := v.Primary[g]
	if addr == "" {
		return answer{}, fmt.Errorf("%w: the group has none now", fault.ErrNotPrimary)
	}
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	head, err := json.Marshal(r)
	if err != nil {
		return answer{}, err
	}
	err = writeFrame(w, frameRequest, head)
	for i := range r.puts {
		err = errors.Join(err, writeFrame(w, framePut, appendPut(nil, &r.puts[i])))
	}
	if err = errors.Join(err, w.Flush()); err != nil {
		return answer{}, err
	}
	primary := door.Group{Primary: func() string { return k.primary(g, addr) }}
	ctx, end := primary.While(ctx, addr)
	defer end()
	answered, a, err := k.exchange(ctx, addr, b.Bytes(), give, r)
	switch why := context.Cause(ctx); {
	case err == nil, answered, errors.Is(err, door.ErrDial):
		return a, err
	case r.Op.changes():
		return a, fmt.Errorf("%w: the primary at %s was lost before it answered: %w", fault.ErrUnknownOutcome, addr, err)
	case errors.Is(why, door.ErrMoved):
		return a, fmt.Errorf("%w any more, the member at %s", fault.ErrNotPrimary, addr)
	case why != nil:
		return a, why
	}
	return a, fmt.Errorf("%w, or lost, the member at %s: %w", fault.ErrNotPrimary, addr, err)
}

// own is this group's own part of an answer.
func (k *Groups) own(ctx context.Context, r *request, give give) (a answer, err error) {
	ctx, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	account := k.bytes.Open(localSource, cut)
	defer account.Close()
	var kept int64
	a, err = k.part(ctx, localSource, r, func(n int64) error { return limits.Hold(account, k.o.Host, &kept, n) }, give)
	if why := context.Cause(ctx); err != nil && why != nil {
		err = why
	}
	return a, err
}

// primary is the address of a group's primary by the present map, or was.
func (k *Groups) primary(g int, was string) string {
	if v := k.view(); v != nil && g < len(v.Primary) && v.Primary[g] != "" {
		return v.Primary[g]
	}
	return was
}

// exchange sends a request and takes the answer. answered: the error is that of the other
// member, or of give.
func (k *Groups) exchange(ctx context.Context, addr string, body []byte, give give, r *request) (answered bool, a answer, err error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/", bytes.NewReader(body))
	if err != nil {
		return true, a, err
	}
	if k.o.Sign != nil {
		if err := k.o.Sign(q.Header); err != nil {
			return true, a, err
		}
	}
	res, err := k.transport.RoundTrip(q)
	if err != nil {
		return false, a, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return false, a, fmt.Errorf("%w: %s", errFormat, res.Status)
	}
	for in := bufio.NewReaderSize(res.Body, pieceBytes); ; {
		kind, b, err := readFrame(in, nil)
		if err != nil {
			return false, a, err
		}
		watched := kind == frameStands || kind == frameEvent
		if watched && r.events == nil || kind == frameFound && give == nil || kind == frameBoxes && r.boxes == nil {
			return true, a, fmt.Errorf("%w: a frame of kind %q that was not asked for", errFormat, kind)
		}
		switch kind {
		case frameStands:
			var at store.WatchOptions
			if at, err = getStands(b); err == nil {
				err = r.events.stands(at)
			}
		case frameEvent:
			var e store.Event
			var failed error
			if e, failed, err = getEvent(b); err == nil {
				err = r.events.take(&e, failed)
			}
		case frameBoxes:
			var found []FoundBox
			if found, err = getBoxes(b); err == nil {
				err = r.boxes(found)
			}
		}
		if err != nil {
			return true, a, err
		}
		if watched || kind == frameBoxes {
			continue
		}
		if kind != frameFound {
			a, err = getAnswer(kind, b)
			_, _ = io.Copy(io.Discard, in) // Then the stream is used again.
			return true, a, err
		}
		f, tag, err := getFound(b)
		if err != nil {
			return true, a, err
		}
		if more, err := give(&f, tag); !more || err != nil {
			return true, a, err
		}
	}
}
