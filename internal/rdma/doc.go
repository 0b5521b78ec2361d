// Package rdma is the verbs API on which Catfish is built: memory regions
// with access rights and remote keys, reliable connected queue pairs, posted
// work requests that complete later, and completion queues that are polled
// and waited on. Providers implement it over hardware, shared memory and
// sockets, each in a package of its own:
//
//	internal/rdma/shm    same host, shared memory: reads and writes are loads and stores
//	internal/rdma/soft   a software RNIC over TCP, any network
//
// All pass the conformance suite in internal/rdma/rdmatest. The semantics follow
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
// Requests of one queue pair take effect at the target in the order in which
// they were posted: a Write is visible before the bytes and the event of a
// later WriteImm, and a later Read sees an earlier Write. Nothing is promised
// between queue pairs.
//
// The target may also look at the memory itself, without an event. The bytes
// of one Write appear in any order, so only one thing is safe to look at: a
// word of 8 bytes, aligned at both ends, that a Write of its own changes. An
// atomic load sees that Write whole or not at all, and a load that sees it sees
// all Writes before it on this queue pair. A card promises that by InfiniBand's
// order of requests and PCIe's of posted writes, software by an atomic store.
// Where foreign software copies (Info.TornLines: Soft-RoCE, libfabric's tcp),
// the word may be seen in part for a while, in the order of its bytes: its
// content must show whether it is complete. Such software copies without
// barriers: on processors that reorder stores (not amd64) a load that sees the
// word may not see the Writes before it. There, wait for an event. Where a
// device declares Info.InOrder, the last byte of a Write may be looked at, too:
// it appears after all others of that Write. A change of
// memory does not wake a completion queue: do not sleep in Wait for it.
//
// A Read is not atomic as a whole: each aligned 64-byte
// line of it is (the unit in which PCIe and CPU caches move data), but lines
// may be sampled in any order and at different times. A reader of memory that
// changes must validate what it read (package rstar: a version in every
// line). Software devices may not promise even lines (Info.TornLines); there, the
// content on which two consecutive Reads agree is valid, see package offload.
//
// # Revocation
//
// Region.Revoke ends remote access and keeps the bytes, for an owner that must
// stop a peer from writing and then use what it wrote: a server that takes over
// from another. Info.Revoked names the promise of the device for Writes that
// are in progress during Revoke:
//
//	RevokedFinal     soft      waits for each Write in progress, and closes the
//	                           connections whose Write waits for more bytes
//	                 cards     deregistering waits for the card's accesses
//	RevokedComplete  shm       the peer's processor copies, at any later time if its
//	                           process was stopped; but it reports StatusOK only if
//	                           the Region is still registered after the copy
//	RevokedLoosely   tcp       libfabric's software and Soft-RoCE's copy, and no
//	                           call waits for that
//
// With RevokedComplete, the owner uses only bytes that a check sum covers, and
// never registers the memory again. With RevokedLoosely, a completion does not
// show that the bytes are in the memory; an answer by the target's processor
// does. A Write in progress during Revoke may store some of its bytes, whatever
// its Status. A Write that begins after Revoke stores none.
//
// # Ownership of buffers
//
// From Post until the request's completion has been polled, the local bytes
// belong to the provider: do not change the source of a Write, and do not
// read the destination of a Read. An unsignaled request is complete when a
// later signaled one of the same queue pair is, or, for a Write, when the
// peer's answer shows that it read the Write: an answer to an event that
// the Write carried, or to a later Write that it saw.
//
// # Errors
//
// A request that fails (bounds, access rights, stale or unknown remote
// key, dead peer) completes with a Status other than StatusOK, signaled
// or not, and puts its queue pair into the error state: everything
// outstanding is flushed with StatusFlushed, later Posts fail with
// ErrQueuePair, and the receive CQ gets exactly one OpRecv completion
// with an error status (the posted receives, collapsed into one), so
// that the owner is notified of the loss without posting. The target's
// memory is unharmed. The peer's queue pair also fails, within
// PeerTimeout. A failed queue pair stays failed: Close it and dial again.
package rdma
