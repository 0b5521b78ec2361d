package kv

import (
	"context"
	"errors"
)

// ErrNoRecords: this build's server has no collections of records.
var ErrNoRecords = errors.New("bench: this build serves no records")

// StartCatfish is the StartServer of Catfish itself.
func StartCatfish(context.Context, ServerJob, func(string)) (Server, error) { return nil, ErrNoRecords }

// DialCatfish is the Dialer of Catfish itself.
func DialCatfish(context.Context, ClientJob) (Store, error) { return nil, ErrNoRecords }
