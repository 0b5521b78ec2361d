// Package features measures collections of features: `catfish bench features`
// runs it. Package bench is its counterpart for boxes, and package bench/kv
// for records by key.
//
// # Data
//
// Features are those of an OpenStreetMap extract, copied side by side up to
// the wanted number (Data): real shapes, real tags, real crowding. Queries are
// chosen by the number of features that they find (choose), so all ways of a
// work do the same, and each answer is known.
//
// # Processes
//
//	parent (Run)              server child              client child, one a run
//	  | start, ServerJob ------> load, choose queries
//	  | <--------------- ready
//	  | start, LoadJob -------------------------------> connect
//	  | <---------------------------------------------- ready
//	  | go -------------------------------------------> warm up, measure
//	  | ask -------------------> usage
//	  | <----------------------------------------------- sample
//	  | ask -------------------> usage
//	  | LoadJob ---------------> work in its own process
//	  | <-------------- sample
//	  | close stdin -----------> exit                    exit
//
// A server serves all runs of its works: loading takes longest. A child alone
// runs the works that need no server, on the server's core.
//
// # The load
//
// The loop is closed: each of clients x in-flight goroutines has one call in
// flight, and times it. A connection to Tile38 has one goroutine, which sends
// several searches together and waits for all: Tile38 is fastest so.
//
// # Right answers
//
// Catfish must find the known number of features of the box; of the nearest,
// ten with ascending distances. Tile38 may differ by 2 % in all. Geofences:
// every event is compared with those that follow from the moves. Countries: a
// part is compared with a test of each polygon. Wrong answers are counted, and
// make the run fail in the end (ErrWrong).
//
// # Reading the source
//
// config.go (works and ways), data.go, queries.go, wire.go, loop.go; then run.go and
// kept.go, the parent's side; server.go, client.go, rings.go, grpc.go, local.go, the
// children's; country.go, fences.go; tile38.go, with package resp.
package features
