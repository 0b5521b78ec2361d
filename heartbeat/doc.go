// Package heartbeat informs clients about the load of their server. A
// heartbeat is a small message of fixed size. RDMA Write puts it into a slot
// in each client's memory, where it replaces the previous one, read or not.
// The paper (section IV-A) sends heartbeats over the response ring; a slot
// has the advantage that a full ring cannot delay them. A connection may also
// bring them itself (Rider), as messages in that ring or with answers.
//
//	Monitor  measures the load; one per server
//	Sender   encodes heartbeats and posts them to the clients of one
//	         worker, called by the worker's loop (fastmsg's Tick)
//	Mailbox  reads the slot, in the client
//
// No heartbeat means "not busy": a server without requests sends none. A
// connection without requests gets few (rest.go).
package heartbeat
