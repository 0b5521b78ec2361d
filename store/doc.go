// Package store keeps places: features with an id, a geometry and properties, found
// by id, by area, by distance and by what their properties say.
//
//	Put, Patch, Delete ---> door ---> log and state on disk      store/disk
//	                          |
//	                          '-----> records, key index, tree   kv, rstar
//	Get, Search, Nearest <----------- in memory, without locks
//
// A Store has collections, of features or of boxes, and one log of all their writes.
// It runs in a process of its own choice: a server lets clients read its memory
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
//   - A page of an order by id, continued after its last id, meets everything that
//     is there throughout exactly once.
//
// # Reading order
//
// set.go is how memory hangs together, door.go how writes pass, query.go and
// search.go what searches do, nearest.go what is near on a sphere, restore.go how a
// store begins; boxes.go how collections of boxes are kept.
package store
