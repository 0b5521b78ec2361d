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
// Where to start reading: options.go (what can be set), server.go and
// client.go (the two sides), policy.go (who decides), package rstar/remote
// (how a client walks the tree), many.go and searchbatch.go (many searches at once, at
// the client and at the server), wire.go (what travels in messages).
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
