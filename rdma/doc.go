// Package rdma is the verbs API that Catfish is written against: memory
// regions with access rights and remote keys, reliable connected queue
// pairs, posted work requests that complete later, completion queues
// that are polled and waited on. Hardware, shared memory and sockets are
// providers of it, in packages of their own:
//
//	rdma/shm    same host, shared memory: reads and writes are loads and stores
//	rdma/soft   a software RNIC over TCP, any network
//
// All pass the conformance suite in rdma/rdmatest. The semantics follow
// the InfiniBand architecture's RC (reliable connected) service, as
// ibv_post_send(3) and ibv_poll_cq(3) describe it:
//
//	initiator                                    target
//	---------                                    ------
//	Post(Write)    --- bytes ------------------> Region (RemoteWrite)
//	Post(WriteImm) --- bytes, then one event --> Region, then recv CQ
//	Post(Read)     <-- bytes ------------------- Region (RemoteRead)
//	send CQ: one Completion per signaled request, in posting order
//
// # Order
//
// Requests of one queue pair take effect at the target in the order in
// which they were posted: a Write is visible before the bytes and the
// event of a later WriteImm, and a later Read sees an earlier Write.
// Nothing is promised between queue pairs. A Read is not one atomic
// look: each aligned 64-byte line of it is (the unit in which PCIe and
// CPU caches move data), but lines may be sampled in any order and at
// different times. Whoever reads memory that changes validates it
// (package rstar: a version in every line). Devices in software may not
// even promise lines (Info.TornLines); there, what two Reads one after
// the other agree on was there, see package offload.
//
// # Ownership of buffers
//
// From Post until the request's completion was polled, the local bytes
// belong to the provider: do not change the source of a Write, do not
// look at the destination of a Read. An unsignaled request is complete
// when a later signaled one of the same queue pair is, or, for a Write,
// when the peer has answered what it brought.
//
// # Errors
//
// A request that fails (bounds, access rights, stale or unknown remote
// key, dead peer) completes with a Status other than StatusOK, signaled
// or not, and takes its queue pair into the error state: everything
// outstanding is flushed with StatusFlushed, later Posts fail with
// ErrQueuePair, and the receive CQ gets exactly one OpRecv completion
// with an error status (the posted receives, collapsed into one), so
// that the owner learns of the loss without posting. The target's
// memory is unharmed. The peer's queue pair fails likewise within
// PeerTimeout. A failed queue pair stays failed: Close it, dial anew.
package rdma
