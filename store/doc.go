// Package store keeps places: features with an id, a geometry and properties, found
// by id, by area, by distance and by the contents of their properties.
//
//	Put, Patch, Delete ---> commit queue ---> log and state on disk      store/disk
//	                              |
//	                              '---------> records, key index, tree   kv, rstar
//	Get, Search, Nearest <------------------- in memory, without locks
//
// A Store has collections, of features or of boxes, and one log of all their writes.
// It runs in any process: a server lets clients read its memory
// (Options.Memory), a program may use it without a network.
//
// # Promises
//
//   - A write that was acknowledged is durable, as far as Options.Sync says, and is
//     seen by every read that begins later.
//   - A read sees nothing that is not durable in that sense.
//   - Each write has a revision; revisions grow, across all collections of a store.
//   - A Get returns the state of its id at a moment of the call. For searches see
//     Collection.Search.
//   - A page of an order by id, continued after its last id, meets every feature that
//     exists throughout exactly once.
//
// # Reading order
//
// set.go shows the structures in memory, commit_queue.go how writes pass, query.go and
// search.go how searches work, nearest.go the nearest on a sphere, restore.go how a
// store starts; boxes.go how collections of boxes are kept.
package store
