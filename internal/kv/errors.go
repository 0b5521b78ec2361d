package kv

import "errors"

// Errors of a Map, besides record.ErrFull, record.ErrTooLarge, cuckoo.ErrFull and
// cuckoo.ErrTooManyAlike, after which nothing was changed.
var (
	ErrOptions = errors.New("kv: bad option")
	// ErrNotFound: the key has no record.
	ErrNotFound = errors.New("kv: no such key")
	// ErrExists: the key has a record, and the write was for one without.
	ErrExists = errors.New("kv: the key exists")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("kv: closed")
	// ErrConflict: the key's record has another revision than the write wants.
	ErrConflict = errors.New("kv: another revision")
)
