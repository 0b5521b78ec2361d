// Package harness is what all programs share that measure with processes of their own:
// search (package bench), kv, features, micro, idle and replay.
//
//	child.go     the conversation of a parent and its children: ServerMain, ClientMain
//	dial.go      the connections of a client
//	settings.go  checks of what is measured
//	rounds.go    the order of runs, and ratios within rounds
//	usage.go     processor time and network traffic of a process
//	output.go    rows as JSON, and their table
package harness
