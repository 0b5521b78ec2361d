// Package server serves collections of boxes, records and places, to clients on every
// transport and to its own process. Open has places in this process without a server.
//
// A request comes to a worker (worker.go) through package fastmsg, or by a plain socket
// (tcpserver.go). The worker hands it to service.go, or several that are ready at once
// to searchbatch.go, featurebatch.go or recordbatch.go. request.go decodes and checks
// it, the collection answers, and record.go notes it if the server records. What takes
// long is answered later: in steps (long.go), or when the store has committed
// (later.go, featurewrites.go).
//
// Elsewhere: server.go, fabric.go and mux.go accept connections of each transport;
// collection.go and drop.go have the names; slab.go the registered memory; budgets.go,
// memory.go and streambounds.go what clients may hold; access.go who may do what.
package server
