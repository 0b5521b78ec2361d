package client

import (
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/record"
	"github.com/catfish-index/catfish/rstar"
)

// RetrySafe reports whether the operation that failed with err had no
// effect, so that repeating it cannot do it twice: it was not sent, or it
// was refused. Whether a repetition succeeds is another question. A search has
// no effects and may always be repeated.
func RetrySafe(err error) bool {
	var r *wire.RemoteError
	var part *partlyDone
	switch {
	case err == nil, errors.Is(err, model.ErrUnknownOutcome), errors.As(err, &part):
		return false
	case errors.Is(err, model.ErrNotSent), errors.Is(err, model.ErrNoServer):
		return true
	case errors.As(err, &r):
		return r.Done == 0 && !errors.Is(r, model.ErrServer)
	}
	for _, e := range []error{model.ErrUnauthenticated, model.ErrBusy, limits.ErrExceeded, model.ErrNotReady, model.ErrRestarted, model.ErrOption, model.ErrKind, rstar.ErrBadRect, record.ErrTooLarge} {
		if errors.Is(err, e) {
			return true
		}
	}
	return fastmsg.RetrySafe(err)
}

// partlyDone is the error of a call of several messages, the first of which
// were carried out.
type partlyDone struct {
	done int
	err  error
}

func (e *partlyDone) Error() string { return fmt.Sprintf("after %d objects: %v", e.done, e.err) }

func (e *partlyDone) Unwrap() error { return e.err }
