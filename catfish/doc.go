// Package catfish is the public library: a Server that holds R*-trees in
// registered memory, and a Client that searches them by fast messaging or
// by offloading and chooses per search.
//
//	client                                    server
//	------                                    ------
//	Client --- fastmsg ring ----------------> worker --> rstar.Tree
//	   |   <-- answers, heartbeat mailbox --     |
//	   |                                      slab (registered memory)
//	   +------ read channels: RDMA Reads --------^
//
// # The path of a request
//
// A search begins in search.go: Client.Search fills a query, and run carries
// it out on the present session (sessions.go, session.go), and again on the
// next one if the connection breaks. once asks the engine of package policy
// for the path.
//
// By fast messaging, message encodes the query (wire.go) and calls the server
// through package fastmsg. There a worker (worker.go) hands the request to
// service.go, or several that are ready at once to searchbatch.go. request.go
// decodes and checks it, the tree answers, and record.go notes it if the
// server records.
//
// By offloading, the query takes a read channel (channels.go), and package
// rstar/remote walks the tree by RDMA Reads. Where that does not come to an
// end, because the tree changes too quickly, the search takes fast
// messaging.
//
// A write (write.go) always takes fast messaging, and is repeated only if
// it was never sent.
//
// Elsewhere: server.go, fabric.go and mux.go accept connections of each
// transport; detect.go and hello.go choose the transport; connection.go keeps
// a client connected; shared.go has what clients of a process share; many.go
// makes many searches at once; tcp.go is the paper's base line over sockets.
//
// # Promises
//
// On every path a search returns each object that was in the tree during
// the whole search exactly once, none that was absent during the whole
// search, and sees every write acknowledged before it began. An atomic
// snapshot across objects is not promised. Searches are retried when the
// connection breaks; a write whose answer was lost ends with
// ErrUnknownOutcome, one that was never sent with ErrNotSent.
package catfish
