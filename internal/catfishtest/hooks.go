package catfishtest

import (
	"context"

	"github.com/catfish-index/catfish/internal/wire"
)

// KeepYoung keeps references of records of any age: tests take less than a second.
func KeepYoung(h *wire.ClientHooks) { h.KeepYoung = true }

// never keeps the memory guard from measuring: it sees only what a test sets.
func never(ctx context.Context) (int64, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// NeverResident keeps a server from measuring its memory.
func NeverResident(h *wire.ServerHooks) { h.Resident = never }
