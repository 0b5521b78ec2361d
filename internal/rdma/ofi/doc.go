// Package ofi is the provider for real RDMA: a binding to libfabric's
// connected endpoints (FI_EP_MSG), built with the tag ofi, cgo and
// libfabric's headers. Without the tag, Open and Discover return
// ErrNotBuilt, which says how to build it.
//
//	provider   hardware                        here
//	verbs      InfiniBand, RoCE, Soft-RoCE     one-sided: the target's
//	                                           process may even be stopped
//	tcp        none, for tests                 the target's CPU serves reads
//
// # How a connection is made
//
// A queue pair begins as a TCP connection, which carries what the RDMA
// connection manager has no room for (56 bytes on InfiniBand, a byte of which
// libfabric takes) and lives as long as the queue pair: when it ends, either
// side learns of the other's death, whatever the fabric.
//
//	dialer                                listener
//	  greeting: provider, private data ---->  ConnRequest
//	  <---- answer: accept, private data, fabric address; or reject, reason
//	  fi_connect(address, token) ---------->  FI_CONNREQ, matched by token
//	  FI_CONNECTED <------------------------  fi_accept
//
// # Completions
//
// Each posted request has a slot in its queue pair, numbered in posting
// order; the number travels through libfabric as the operation's context.
// libfabric's completions are moved into a ring in Go memory and put into the
// promised order there (tcp completes a write before the read that was posted
// earlier):
//
//	fid_cq --poll, 64 a call--> slot done --in order--> ring --Poll--> owner
//
// Every request asks libfabric for a completion, even an unsignaled one:
// otherwise its errors would be lost (shim.c).
//
// Reading order: options.go, shim.h (the flat C view), device.go, order.go,
// region.go, control.go (greeting), dial.go, listen.go, events.go
// (connection events), cq.go, queuepair.go, post.go, complete.go,
// status.go.
package ofi
