// Package mongo measures documents over plain sockets and over rings, as RDMA_Mongo's
// figures 10 and 11 do: `catfish bench mongo` runs it.
//
// The paper compares MongoDB over TCP with MongoDB whose messages are RDMA Writes with
// Immediate. Here the same store serves the same documents to the same client over both:
// tcp is plain sockets, shm and soft are rings. A document is a feature, made of an
// OpenStreetMap extract.
//
//	parent (Run)           server child         client child
//	  | start ------------> an empty store
//	  | start ------------------------------------> open the extract
//	  | command, a run ---------------------------> dial, insert, query, update, delete
//	  | <------------------------------------------ the time of each
//
// A run makes its documents and deletes them, so the store is empty again. The works of a
// run follow each other; in each, all threads begin together, and its time is that from the
// first operation's begin to the last one's end, as the paper's T. Transports alternate in
// rounds.
//
//	figure 10   1 thread, 10 to 1,000,000 documents
//	figure 11   100 to 400 threads, 1,000 operations each
package mongo
