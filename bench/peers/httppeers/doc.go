//go:build linux

// Command httppeers measures HTTP requests for places: Catfish's items and
// tiles, compared with PostGIS and Tile38, each with a plain HTTP handler in
// Go, in one run.
//
//	cd bench/peers
//	go run ./httppeers --catfish ../../bin/catfish --tile38 tile38-server --json rows.jsonl
//	go run ./httppeers --catfish ../../bin/catfish --features 20000 --rounds 1 --duration 1s
//
// It is in a module of its own, so that programs that import Catfish inherit no client
// of another server. docs/decisions/http-peers.md says what was chosen, and why.
//
// # The works
//
//	work       places                            one request
//	items-10   --features points with three      up to 10 places of a box that holds
//	           properties, made from --seed      5 to 10
//	items-100  the same                          up to 100 of a box that holds 50 to 100
//	tiles      --tiles, an OpenStreetMap file    a vector tile of zoom 13 to 16 around a
//	                                             place
//
// Boxes hold no more than the limit, so the answer does not depend on an
// order, and all peers give the same. All load is the same file of requests,
// sent by wrk over kept-alive connections, without compression.
//
// # Processes
//
//	server core                                  load core
//	catfish serve --http  <--------------------- wrk
//	handler (this program) <-------------------- wrk
//	  '-> postgres, or tile38-server
//
// Each round measures all peers, every other round backwards. Before the
// first, a sample of the answers is compared with the places (agree.go): a
// difference ends the run. So does a request that fails.
//
// # Reading the source
//
// places.go and boxes.go (the requests), peer.go, then catfish.go, postgis.go
// and tile38.go with handler.go (the peers), wrk.go, agree.go, run.go, row.go.
package main
