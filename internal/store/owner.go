package store

import "context"

// Owner is a server that lets remote clients reach a store's collections, under numbers.
type Owner interface {
	// Attach sets the Attached of an entry, before anybody else sees it.
	Attach(e *Entry)
	// Swapped is called when the entries before have ended, and now has those that have
	// their names instead. wait returns when no client uses the names as they were before,
	// or when its context ends.
	Swapped(before, now [2]*Entry) (wait func(context.Context) error)
}
