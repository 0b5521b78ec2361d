// Package policy decides which path a search takes: fast messaging or
// offloading. The same code runs in clients, in the simulator and in tests,
// on a clock that is handed in.
//
//	client                       Engine                        Policy
//	------                       ------                        ------
//	Choose(mailbox, search) ---> plan still good? sample it
//	                             else: clock, mailbox ------> Plan(Ask)
//	   <--- path, began ----          the next plan  <------ share, for how long
//	  ... the search ...
//	Done(began, outcome) ------> count it; if it was timed --> Observe
//
// A policy is not asked about each search. It answers with a plan: the share
// of searches to offload, and for how many searches, until when, or until
// the next heartbeat. The engine carries the plan out: most searches cost one
// atomic subtraction and a pseudo-random number, no lock and no clock.
//
// Clients that share cores and a network form a Group. What one of them gains
// may be what the others lose, so a policy may compare how many searches all
// of them finish (Group.Finished), and share what it learns.
//
// The policies: Fixed; the paper's Algorithm 1 (backoff.go); and cost, the
// default (cost.go). docs/policy.md explains them.
package policy
