// Package shm is the verbs provider for processes of one host: regions are
// sealed memory files (memfd) that peers map, so that Reads and Writes are
// loads and stores of the initiator. The target spends no time on them; they
// work even while its workers or its whole process are busy or stopped.
//
//	client process                                server process
//	--------------                                --------------
//	queue pair  <-- unix socket: handshake, fds, wake-ups, death --> queue pair
//	  Post(Read)      loads from  [ slab: memfd, mapped read-only ] <- Region
//	  Post(Write)     stores to   [ ring: memfd, mapped writable  ] <- Region
//	  Post(WriteImm)  stores, then pushes an event
//	                  into        [ receive ring of this pair     ] -> Poll
//
// A peer gets a region's file when it first names its key: the request
// waits (the only case in which a request is not complete when Post
// returns) and the target's control goroutine for this connection
// answers over the socket. Later requests make no system call.
//
// # Trust
//
// The target enforces access with the kernel's help: a region without
// RemoteWrite leaves the process as a read-only descriptor of a file under
// F_SEAL_FUTURE_WRITE, so no peer can ever write it; one without remote
// access never leaves it. Within a region that a peer may write, the
// initiator checks bounds and closed regions, as it has the memory already.
// Peers share memory per connection only (receive ring, socket), so a hostile
// one harms only its own connection. Every file that arrives must be sealed
// against resizing, so that no peer can truncate it under a mapping (SIGBUS).
//
// The socket's file mode determines which users may connect (Options.SocketMode).
// Each side knows the other's process and user from the kernel.
//
// # Bounds
//
// The cost of peers is bounded, for each connection and for all (Options): the
// connections, those that have not sent their hello, and the bytes of the peers'
// memory that are mapped. A peer that exceeds a bound is refused, or loses its own
// connection and gets the reason; when all together hold too much, the source that
// holds most makes room. A process is a source of its own, unless it is of a user
// other than this process's: all processes of such a user count together.
//
// Nothing waits for a peer that does not read its socket. Wake-ups and
// revocations are dropped when it is full, which is safe (file ring.go); an
// answer to a key request waits a second, in the goroutine of this connection,
// which then ends; an unanswered key request ends it after rdma.PeerTimeout.
//
// # Reading order
//
// memfd, table, uses and region (memory), ring (events), lists, inbox
// and cq (completion queues), message, socket, process, holding, listen, greet,
// request and dial (connecting), qp, post and control (queue pairs).
package shm
