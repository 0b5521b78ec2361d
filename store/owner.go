package store

import "context"

// Owner is a server that lets clients reach a store's collections, under numbers of its
// own and beside collections that are not the store's. All names are one space. Whoever
// creates, drops or swaps collections calls the store, which leaves it to the Owner: it
// checks, lets the store do it, and then tells its clients. The methods are safe for
// concurrent use.
type Owner interface {
	// Missing says what is wrong with the name of no collection of features: there is
	// none, or one of another kind.
	Missing(name string) error
	// Create creates a collection by calling create, if the name is free.
	Create(name string, s Spec, create func() (Made, error)) (Made, error)
	// Drop drops a collection, by Collection.Retire or Boxes.Retire, and reports whether
	// there was one.
	Drop(name string) (bool, error)
	// Swap exchanges two names by calling swap. Clients may see it when it returns, or
	// when ctx ends.
	Swap(ctx context.Context, a, b string, swap func() error) error
	// MayAlter is why a collection may not have these options, nil if it may.
	MayAlter(name string, o CollectionOptions) error
}
