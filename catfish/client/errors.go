package client

import (
	"errors"

	"github.com/catfish-index/catfish/internal/status"
	"github.com/catfish-index/catfish/internal/wire"
)

// RetrySafe reports whether the operation that failed with err had no
// effect, so that repeating it cannot do it twice: it was not sent, or it
// was refused. Whether a repetition succeeds is another question. A search has
// no effects and may always be repeated.
func RetrySafe(err error) bool {
	var r *wire.RemoteError
	var part *wire.PartlyDone
	if err == nil || errors.As(err, &part) || errors.As(err, &r) && r.Done > 0 {
		return false
	}
	return status.RetryOf(err) != status.Unknown
}
