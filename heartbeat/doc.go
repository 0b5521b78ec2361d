// Package heartbeat tells clients how busy their server is: a small,
// fixed message, written by RDMA Write into a slot of each client's
// memory where a newer one replaces an unread one. The paper (section
// IV-A) sends heartbeats over the response ring; a slot is never held
// up behind a full ring.
//
//	Monitor  samples the load; one per server
//	Sender   builds one beat per tick and posts it to every client of
//	         one worker, called by the worker's loop (fastmsg's Tick)
//	Mailbox  reads the slot at the client
//
// No beat means "not busy": a server without requests stops sending.
package heartbeat
