// Package store keeps places: features with an id, a geometry and properties, found
// by id, by area, by distance and by the contents of their properties.
//
//	Put, Patch, Delete ---> commit queue ---> log and state on disk      internal/store/disk
//	                              |
//	                              '---------> records, key index, tree   kv, rstar
//	Get, Search, Nearest <------------------- in memory, without locks
//
// A Store has all collections of a server, in one registry: of features, and of boxes and
// records, which are kept or in memory alone. What is kept has one log of all its writes,
// as features have. A Store runs in any process: a server lets
// clients read its memory (Options.Memory, Owner), a program may use it without a
// network.
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
// # Files
//
// Collections and their names:
//
//	store.go        Options, Open, Load, Close
//	entry.go        kinds of collections; registry.go: names and numbers
//	create.go       Create; build.go: its structures in memory; memory.go, owner.go: a server's part
//	drop.go         Drop; swap.go: two names change places; alter.go: title and description
//	collection.go   a collection of features; set.go: its records, key index and tree
//	users.go        the calls inside a collection, for whose end its close waits
//	restore.go      how a store starts; checkpoint.go: a copy while it runs
//	names.go        names of package query; errors.go
//
// Writes of features, in the order of their path:
//
//	write.go        Put, Patch, Delete, DeleteWhere; patch.go: merge patches
//	writes.go       those that one goroutine received together; puts.go: many of one caller
//	commit_queue.go the path of all writes: batches, the commit leader, publish
//	once.go         writes that are repeated
//	judge.go        preconditions; refused.go: the errors of those that do not hold
//	commit.go       makes a batch durable; replicate.go: in all members of a group
//	apply.go        entries that another member of the group has committed
//	tidy.go         maintenance: dead records, expired features
//	fill.go         many features into an empty collection; schema.go, stats.go: counts
//
// Reads of features:
//
//	read.go         Get, Search and their promises; search.go: the search of an area
//	first.go        the first of an area by id, a page; first_sort.go
//	nearest.go      the nearest on a sphere or a plane
//	together.go     searches that are ready at the same time
//	cells.go        counts by cells; extent.go, describe.go: the whole collection
//	nowhere.go      features without a geometry; fields.go: parts of features
//	pace.go         when a search pauses; kept.go: the memory that it reports
//	changes.go      what has changed where, for caches of answers
//	reading.go      until when a member of a group may be read
//
// Several groups that have one store together:
//
//	slots.go        which slots a store has, and what readers and writers may see
//	moved.go        copies and drops by moves; slotscan.go: what a move reads; slotload.go: bytes; parts.go: boxes that move
//	slotrequests.go how many requests the slots have
//	defined.go      definitions of collections, for another group
//
// Watching:
//
//	watch.go        the argument that no event is lost, and Watch; follow.go: in batches
//	watch_publish.go, watch_ring.go, watch_hub.go   from the commit leader to the watchers
//	watch_next.go   a watcher: Next, Try; watch_behind.go: one that is slow; watch_end.go
//	watch_areas.go  its areas; watch_change.go, watch_event.go: what a write means for one
//
// Boxes that are kept:
//
//	boxes.go        a collection of them; boxwrite.go: writes; boxload.go: bulk load; boxsurvey.go: a sample
//	leftload.go     bulk loads that ended with their primary
//
// Records that are kept:
//
//	records.go      a collection of them; recordwrite.go: writes
//	evict.go        those with a limit, as a cache
package store
