// Package features measures collections of features: what `catfish bench features`
// does. Package bench is its counterpart for boxes, and package bench/kv for records
// by key.
//
// # Data
//
// Features are those of an OpenStreetMap extract, copied side by side until there
// are as many as wanted (Data): real shapes, real tags, real crowding. Queries are
// chosen for how many features they find (choose), so all ways of a work do the same,
// and each answer is known.
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
// A server serves all runs of its works: loading takes longest. Works that need no
// server are done by a child alone, on the server's core.
//
// # The load
//
// The loop is closed: each of clients x in-flight goroutines has one call under way,
// and times it. A connection to Tile38 has one goroutine, which sends several
// searches together and waits for all: its best way.
//
// # Right answers
//
// Catfish must find as many features as the box is known to hold; of the nearest,
// ten with distances that ascend. Tile38 may differ by 2 % in all. Geofences: every
// event is compared with what the moves say. Countries: a part is compared with a
// look at each polygon. What is wrong is counted, and makes the run fail in the end
// (ErrWrong).
//
// # Reading the source
//
// config.go (works and ways), data.go, queries.go, wire.go, loop.go; then run.go and
// kept.go, the parent's side; server.go, client.go, rings.go, grpc.go, local.go, the
// children's; country.go, fences.go; tile38.go, resp.go.
package features
