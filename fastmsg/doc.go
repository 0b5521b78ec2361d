// Package fastmsg carries requests and answers in ring buffers that the
// other side writes by RDMA Write with Immediate, as section III-B of
// the Catfish paper describes ("fast messaging"). It knows nothing of
// what the messages mean.
//
// Read in this order: message.go (what a message is), sendring.go and
// recvring.go (the two ends of a ring, and why they cannot deadlock),
// handshake.go, then the server's side (worker.go, turn.go, schedule.go,
// batch.go, conn.go) and the client's (caller.go, call.go, poller.go, lead.go).
//
// # Memory
//
// Each connection has two rings, each in the memory of its reader, and
// each mirrored at its writer, where messages are encoded:
//
//	client                                        server
//	------                                        ------
//	mirror of requests  --- Write, WriteImm --->  region: request ring
//
//	region: 0     mailbox page (4096 bytes)
//	        4096  response ring  <--- WriteImm --  mirror of responses
//
// Both regions grant RemoteWrite and nothing else. The mailbox is a
// page that the server's owner writes as it likes (package heartbeat).
//
// # Immediates
//
// One WriteImm announces everything appended since the last one, of any
// number of messages. Its 32 bits:
//
//	31          30                                 0
//	0           8-byte units appended to your ring
//	1           8-byte units of my ring that I read: yours to fill again
//
// # Trust
//
// Nothing that the other side can write is believed: sizes, flags, ids
// and counts are checked, headers are read once, and payloads are
// handed on as private copies. What breaks a rule ends its connection
// with ErrProtocol and touches no other.
package fastmsg
