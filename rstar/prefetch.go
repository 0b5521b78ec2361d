package rstar

import (
	"unsafe"

	"github.com/catfish-index/catfish/internal/prefetch"
)

// prefetch asks for the first lines of a node to be brought into the caches.
func (t *Tree) prefetch(chunk uint32, lines int) {
	if uint64(chunk) < t.chunks {
		prefetch.Lines(unsafe.Pointer(&t.words[int(chunk)*t.nodeWords]), lines)
	}
}
