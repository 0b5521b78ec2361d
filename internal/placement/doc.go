// Package placement says which group of servers has what, for stores with more data than
// one server has. It is pure: maps and functions that return the next map, without a
// clock, goroutines or I/O. Adapters keep the Map in one key of etcd, copy data and wait.
//
// # Words
//
//	group     of servers, which holds a store (package replica)
//	slot      one of 4,096 parts of all features and records, by a hash of the id
//	position  of a box: that of its centre on a Hilbert curve through its collection's world
//	range     of positions: a part of a collection of boxes
//	part      a slot or a range: what a group owns and what a move moves
//	extent    a rectangle that bounds all features of a collection that a group has
//	bounds    of a range: a rectangle around its boxes, and how large they are
//	map       the owner of each part, and the moves under way
//
// # Rules
//
//	One owner       Each part has one owner in each map; only Decide changes it. A group
//	                acknowledges writes of a part, and answers about it, while it is the
//	                owner in the latest map that it has read (Takes, TakesBox).
//	Compare         A map is written by compare-and-set on the version that was read. The
//	                same transaction compares the key of the group whose primary writes, so
//	                that a deposed primary changes nothing. A new primary reads the map
//	                before it takes a write.
//	Bounds hold     A search skips a part by its bounds alone: too large ones cost a question,
//	                too small ones lose results. So a group takes no box beyond its range's
//	                bounds (FitsBox). They may grow only once all groups answer by a map that
//	                has the larger ones. Without bounds the owner is asked; extents are alike.
//	Answers count   only from owners: of what a group returns about an area, a client keeps
//	                the boxes of which OfBox is that group. So copies under way, and parts
//	                that are not dropped, are never seen twice.
//
// A box that moves across a border is put into the one group, then deleted from the
// other: a search meanwhile may meet its old and its new rectangle, or neither if it asks the
// one before and the other after both writes. Several boxes may have one number, so that a search cannot know.
//
// # Source
//
// HydraDB (Wang et al., SC 2015, section 4.1) places keys by consistent hashing of a
// 64-bit hash; Ring is that. docs/decisions/placement.md compares both.
package placement
