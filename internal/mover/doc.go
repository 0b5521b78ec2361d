// Package mover carries out the moves of the map (package placement) that are from or to this
// member's group, while this member is the group's primary. It copies slots, and ranges of boxes, between the stores
// of two groups, and writes the next step of each move into the map.
//
//	source (From)                          destination (To)
//	                                       drops what an earlier move has left
//	answers scans    <------ stream ------ Copy: scans the slots, copies them in
//	answers the log  <------ stream ------ CatchUp: copies in what was written since
//	sees how far the destination is,
//	by what it asks for: little is missing
//	takes no write, CatchUp -> Freeze,
//	sends no leases
//	                                       has all up to Until: Freeze -> Wait
//	answers no read, waits for the end of
//	leases that were sent: Wait -> Drop    owns the slots
//	waits for leases of secondaries, drops
//	the slots, ends the move
//
// Each arrow is a compare-and-set of the map in etcd, under the group's key (cluster.Step). What
// is not in the map is not needed again: a new primary of the source begins where the map is. A
// new primary of the destination does not know up to where its group has the source's log: it
// copies again, or undoes a move that is frozen. The source undoes one whose destination does not
// answer, so that its slots take writes.
//
// # What the store gets
//
//	slots = those of the map, and what this primary has stopped before it asked for a step
//
// A step whose outcome is unknown may be carried out after the next read of the map, and the answer to one
// that was made may come before the map does. So what was stopped for a step stays so until a later
// version was read than the step has compared, whatever becomes of attempts after it. These make
// one. A later term ends that: the group's key has changed, so no step of the earlier one is made.
//
// Slots and ranges go through the same steps. Before a range is copied the destination stops
// leases of clients, who read the tree as it is, and waits for their end (session.clear).
//
// # What ends with a term
//
// A step is made in the term in which its slots were stopped. Sessions, which copy, and jobs, which
// drop, end with their term: another primary may have begun again meanwhile.
package mover
