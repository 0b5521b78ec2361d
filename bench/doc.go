// Package bench measures Catfish: it starts a server and clients as processes
// of their own, each confined to its cores, lets the clients work in a closed
// loop and reports the results.
//
// # Processes
//
//	parent (Run, Demo)        server child            client children
//	  | start, ServerJob ------> load, listen
//	  | <--------------- ready
//	  | start, ClientJob -----------------------------> dial, generate
//	  | <---------------------------------------------- ready
//	  | go -------------------------------------------> warm up
//	  | cpu -------------------> rusage                  measure
//	  | <----------------- usage
//	  | <---------------------------------------------- sample, done
//	  | close stdin -----------> exit                    exit
//
// A run by count (Config.Requests) has two phases instead of times: each
// client process says that it is warm and waits for another "go", and says
// when its last call is done; between both the parent reads the server's
// usage.
//
// The messages are in wire.go; package harness has the conversation, which all programs
// that measure share, and package child starts and ends the processes.
//
// # Figures
//
// The loop is closed: each of clients × in-flight goroutines makes one call at
// a time and times it around the call, so latency includes the queueing that
// the load itself causes, and no pause of the system can hide (there is no
// schedule to fall behind). It leaves out the time that a goroutine waits for
// a core between two calls, as happens on busy cores. Queries are drawn before
// the clock starts. Every scheme gets the same data (of one server, unless
// the mix writes) and the same queries; a share of them is verified: when the mix only reads, all
// schemes must return the same objects.
//
// Read Config for the knobs, Row for the figures, Run for the driver. Package
// child starts the processes and carries their messages, package replay works
// off a list of queries instead of drawing them. Package paper runs the
// paper's experiments with it, package report draws them, package netns is the
// network between.
package bench
