package placement

import "errors"

// Errors that all others of this package wrap.
var (
	// ErrMap: a value is no map, or breaks a rule or limit. It is named.
	ErrMap = errors.New("placement: bad map")
	// ErrUnknown: no such group, range or move in this map.
	ErrUnknown = errors.New("placement: unknown")
	// ErrBusy: a move under way, or data that a group still has, forbids the change.
	ErrBusy = errors.New("placement: busy")
	// ErrStep: the move is at another step. Read the map again.
	ErrStep = errors.New("placement: not at that step")
	// ErrMoved: another group has the part. Read the map again, and ask that one.
	ErrMoved = errors.New("placement: moved")
	// ErrFrozen: a move is about to be decided. Wait for the next map.
	ErrFrozen = errors.New("placement: frozen")
	// ErrBounds: a box is larger than its range permits: searches would skip its group.
	ErrBounds = errors.New("placement: the box is too large")
	// ErrLoad: a load or sample cannot be planned with.
	ErrLoad = errors.New("placement: bad load")
)
