// Package replay makes each query of a list exactly once, and measures it.
//
// Package bench draws its queries and works until its time ends. Package
// replay has a list, from a file or a server's recording. Query i goes to
// process i mod Procs, whose goroutines take their queries in the order of the
// list, whatever the concurrency. So two replays of one list can be compared
// query by query.
//
// # The path of a replay
//
//	parent (Run, run.go)      server child      replay children (Main, child.go)
//	  | queries -> one log file (queries.go)
//	  | bench.ServerJob -------> load, or empty
//	  | Job ----------------------------------> dial (conn.go); the first inserts
//	  | <-------------------------------------- ready
//	  | go -----------------------------------> ask, each once (ask.go)
//	  | <-------------------------------------- figures; answers: a file (answers.go)
//	  | judge: compare with the recording and with other schemes,
//	  |        verify (oracle.go), write results
//	  v Row (row.go)
//
// The answers stay in the memory of the children until all queries are
// answered: nothing else happens meanwhile. Children are processes of package
// child; the server is bench's.
//
// Read Config for the knobs, Row for the figures, Run for the driver.
package replay
