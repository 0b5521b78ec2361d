package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"unsafe"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/rstar"
)

const (
	itemBytes = int64(unsafe.Sizeof(rstar.Item{}))

	// decodedRatio bounds the memory of a received message, in relation to
	// its length: an object takes a pointer, an Item and a Rect, 136 bytes,
	// and 4 on the wire if all its numbers are 0; and the message itself.
	decodedRatio = 136/4 + 1

	// sortBytes is what rstar's Load takes for each object.
	sortBytes = 20
)

// upload is what one Load has received.
type upload struct {
	*service
	name    string
	call    *call
	account *limits.Account
	items   []rstar.Item
}

// receive checks and keeps all objects up to the end of the stream.
func (u *upload) receive(stream loadStream, m *catfishv1.LoadRequest) error {
	for {
		if n := m.GetCollection(); n != "" && n != u.name {
			return &fieldError{"collection", ReasonBadField,
				fmt.Errorf("is %.*q, but the first message said %q",
					MaxNameBytes, n, u.name)}
		}
		if err := u.add(m.GetItems()); err != nil {
			return err
		}
		var err error
		if m, err = stream.Recv(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return streamError(stream.Context(), err)
		}
	}
}

func (u *upload) add(items []*catfishv1.Item) error {
	if err := u.grow(len(items)); err != nil {
		return err
	}
	for i, p := range items {
		r, err := rectOf("rect", p.GetRect())
		var bad *fieldError
		if errors.As(err, &bad) {
			bad.field = fmt.Sprintf("items[%d].rect", i)
			bad.err = fmt.Errorf("object %d of the stream (id %d): %w",
				len(u.items), p.GetId(), bad.err)
			return bad
		}
		u.items = append(u.items, rstar.Item{Rect: r, ID: p.GetId()})
	}
	return nil
}

// grow makes room for n more objects, and for at least a quarter more than
// before. While they are copied the old array and the new one count: 90 bytes
// for an object of 40.
func (u *upload) grow(n int) error {
	need, old := len(u.items)+n, cap(u.items)
	if need <= old {
		return nil
	}
	need = max(need, old+old/4)
	if err := u.take(int64(need) * itemBytes); err != nil {
		return err
	}
	u.items = append(make([]rstar.Item, 0, need), u.items...)
	u.account.Give(int64(old) * itemBytes)
	return nil
}

// take adds n bytes to what the upload holds, or returns why it must end.
func (u *upload) take(n int64) error {
	if err := checkMemory(u.backend); err != nil {
		return err
	}
	err := u.account.Take(n)
	if err == nil {
		return nil
	}
	if why := u.call.ended(); why != nil {
		return why
	}
	if held, share := u.account.Held(), u.loads.Use().Share; held+n > share {
		return &limitError{
			reason: ReasonLoadTooLarge, limit: share,
			text: fmt.Sprintf("upload needs %d bytes more than the %d that it holds, "+
				"limit %d for one client; divide it", n, held, share),
		}
	}
	return overBudget(u.loads, ReasonLoadBusy, loadRetry, err)
}

// streamError returns the reason why the call ended, if there is one, in
// preference to how the stream noticed it.
func streamError(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil {
		return why
	}
	return err
}
