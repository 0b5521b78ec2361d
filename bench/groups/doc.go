// Package groups measures a replicated group as a service: `catfish bench groups` runs it.
//
//	parent (Run)      catfish processes               client child
//	  | start ------> coordinator, n1, n2, n3
//	  | start ------------------------------------->  dial, create collections
//	  | command ----------------------------------->  write
//	  | <-------------------------------------------  latencies, counts
//	  | 'catfish cluster switch', a new member
//
// There are four parts:
//
//	writes  a server alone, and groups of 1, 2 and 3 members, at each level of
//	        acknowledgement: HydraDB's figure 13, as a service
//	switch  the longest time between two acknowledged writes when the primary is switched
//	sync    a new member with an empty directory: how fast it gets the store, and at what cost
//	lanes   the base lines that no server has, because they lose writes (package lanes)
//
// Set-ups alternate in rounds, each with processes and directories of its own, and ratios to
// the server alone are taken within rounds. Without namespaces all use shared memory. In
// namespaces (package netns) all use soft, and each packet between members and clients is
// delayed one way; the packets go through the parent, which costs more time than the delay says, also
// with a delay of 0.
//
// A machine of all processes is shared by them: beside throughput is the processor time of the
// primary for each write, which is what a primary with a machine of its own would be bound by.
package groups
