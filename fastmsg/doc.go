// Package fastmsg carries requests and answers in ring buffers, into which
// the other side writes by RDMA Write with Immediate, as section III-B of
// the Catfish paper describes ("fast messaging"). What the messages mean is
// up to its users.
//
// Requests may also be written without immediates, for a server that polls
// memory, as the paper's base line does (section III-A, figure 6a; FaRM's).
// See tail.go, and CallerConfig.InMemory. Answers, and the return of room in
// either ring, raise events in any case.
//
// Read in this order: message.go (what a message is), sendring.go and
// recvring.go (the two ends of a ring, and why they cannot deadlock), tail.go,
// handshake.go, then the server's side (worker.go, turn.go, schedule.go,
// batch.go, conn.go, later.go) and the client's (caller.go, call.go, poller.go, lead.go),
// and the answers that clients fetch (answerring.go, leave.go, fetcher.go, fetched.go).
// Package internal/fetch decides when they do.
//
// # Memory
//
// Each connection has two rings. Each ring is in the memory of its reader,
// and has a mirror in the memory of its writer, where messages are encoded:
//
//	client                                        server
//	------                                        ------
//	mirror of requests  --- Write, WriteImm --->  region: request ring
//	tail words          --- Write ------------->          tail word, if the
//	                                                      client announces
//	                                                      in memory
//
//	region: 0     mailbox page (4096 bytes)
//	        4096  response ring  <--- WriteImm --  mirror of responses
//
// A client may also fetch its answers from a third region, of the server, that grants
// RemoteRead (answerring.go, leave.go, fetcher.go).
//
// Both regions grant RemoteWrite and nothing else. The mailbox is a page to
// which the owner of the server may write anything (package heartbeat).
//
// # Immediates
//
// One WriteImm announces everything that was appended since the last one,
// any number of messages. Its 32 bits, in the words of its sender:
//
//	31          30                                 0
//	0           8-byte units that I appended to your ring
//	1           8-byte units of my ring that I have read: fill them again
//
// # Trust
//
// Nothing that the other side can write is trusted: sizes, flags, ids and
// counts are checked, headers are read once, and payloads are passed on as
// private copies. A violation of the protocol ends its connection with
// ErrProtocol, and affects no other.
package fastmsg
