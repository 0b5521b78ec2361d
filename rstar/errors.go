package rstar

import "errors"

// Errors of a tree in this process. After each of them the tree is as it
// was before the call.
var (
	// ErrBadOptions is wrapped by every error about an option that New
	// returns.
	ErrBadOptions = errors.New("rstar: bad options")
	// ErrClosed: the tree was closed. Retrying is useless.
	ErrClosed = errors.New("rstar: tree is closed")
	// ErrNotEmpty: Load needs an empty tree. Insert one by one, or load into
	// a new tree.
	ErrNotEmpty = errors.New("rstar: bulk load into a tree that is not empty")
	// ErrSlabFull: the slab has no chunk left. Nothing was changed; a
	// retry helps only after deletes.
	ErrSlabFull = errors.New("rstar: slab full")
	// ErrLocked: a Load or a Check holds the writer's lock, or very many other writers
	// wait for it. Nothing was changed; a retry may succeed soon.
	ErrLocked = errors.New("rstar: another writer has the tree")
	// ErrCheck is wrapped by every finding of Check.
	ErrCheck = errors.New("rstar: tree is damaged")
)

// Errors of readers that hold a copy of the bytes (ParseHeader, ViewNode).
var (
	// ErrTorn: the copy was taken while a writer changed the bytes. Read
	// them again.
	ErrTorn = errors.New("rstar: torn read")
	// ErrMoved: a move touched the node after the search began. Begin
	// the search again with a fresh header.
	ErrMoved = errors.New("rstar: node moved")
	// ErrLayout: the bytes are no tree, or one of another version or
	// geometry. Retrying is useless.
	ErrLayout = errors.New("rstar: unknown layout")
	// ErrCorrupt: content that no correct writer publishes. Retrying is useless; the
	// peer is broken or hostile.
	ErrCorrupt = errors.New("rstar: corrupt node")
)
