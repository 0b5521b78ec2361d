// Package client connects to Catfish servers.
//
// A search of boxes begins in search.go: Client.Search fills a query, and run carries
// it out on the present session (sessions.go, session.go), and again on the
// next one if the connection breaks. once asks the engine of package policy
// for the path.
//
// By fast messaging, message encodes the query (internal/wire) and calls the server
// through package fastmsg. By offloading, the query takes a read channel (channels.go),
// and package rstar/remote walks the tree by RDMA Reads. If the walk does not end,
// because the tree changes too quickly, the search takes fast messaging. Places
// (featuresearch.go, featureoffload.go) and records (recordget.go) are found in the
// same two ways.
//
// A write (write.go) always takes fast messaging, and is repeated only if
// it was never sent.
//
// Elsewhere: detect.go chooses the transport; connection.go keeps a client connected;
// restart.go compares a server that has restarted with the one before; shared.go has
// what clients of a process share; many.go makes many searches at once; tcpcaller.go is
// the paper's base line over sockets.
package client
