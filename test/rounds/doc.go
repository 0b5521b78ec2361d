// Package rounds looks for faults that a group of servers does not survive: in each round a
// group of three members and a coordinator starts, clients use it on all paths, and one
// fault happens, drawn from a seed. Afterwards the group must be whole again, and have kept
// its promises. docs/cluster.md has them, and a table of rounds.
//
//	      +--- a network that this process can cut and delay (netns.Switch) ---+
//	      |             |            |            |            |               |
//	coordinator        n1           n2           n3       clients 1       clients 2
//	'catfish-         'catfish serve', perhaps n4        this program, writes, reads
//	 coordinator'      kept on a disk of its own          by each path, watches
//	      |             |            |            |            |               |
//	      +------------ namespaces, and processes of their own ----------------+
//
// Processes are killed and stopped, the network is cut and delayed, disks are full, and the
// files of a member are damaged. The clocks of the members differ by days (time
// namespaces). What clients did comes here with times of one clock, and is checked:
//
//	histories  each key is linearizable (package history)
//	kept       each box that was acknowledged exists once, and one of unknown outcome once or not
//	events     a watcher got each acknowledged write, in the order of revisions, once
//	members    all have the same in the end; another member becomes the primary, and has it, too
//	stale      reads that miss a write that was acknowledged before they began, by path
//
// With several groups slots move beside the fault, which begins at a step of the moves. Groups have
// two members each, clients write features and records in place of boxes, and in the end the
// members' directories are read:
//
//	stores     each id is in the group that the map names, in no other, at all members
//
// Not here: clocks of other rates, and steps of the wall clock, which no namespace has. The
// protocol uses neither: its times are of CLOCK_BOOTTIME.
//
// Reading order: plan (what a seed means), faults, damage and change, options, round and
// finish, cluster, group and heal (the servers' processes), job, users, reads, watching and final (the
// clients' processes), crew and record (this process's side of them), check, stale and
// events, table. Of several groups: moving (their plan), act and operator (moves), several and ids
// (clients), groupevents and stored (checks).
package rounds
