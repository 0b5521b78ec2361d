// Package micro measures what a transport can do for one client that has one
// request outstanding, by the bytes of the request: figure 9 of the Catfish
// paper (ICDCS 2019). Two processes talk, pinned to different cores:
//
//	operation  client                       server
//	tcp        sends 1 byte over a socket   answers with n bytes
//	read       RDMA Read of n bytes         its processor is not asked
//	write      RDMA Write of n bytes        its processor is not asked
//
// Latency is the time from one completion at the client to the next: for tcp
// until the last byte of the answer was read, for read and write until the
// completion was polled. A Write's completion says that the bytes have
// arrived, so it holds a whole round trip. Each latency contains one reading
// of the clock and its own recording, some 60 ns. The loop is closed, so
// requests per second are 1 by the mean latency.
//
// What is measured is also compared: the bytes that the measured requests
// moved must be there afterwards, all of them and no others beside them. A
// Write is compared by the server's process, in its own memory.
//
//	parent                  server            client
//	  | start: serverJob -----> |                |
//	  | <---- serverReady ----- |                |
//	  | start: clientJob ------------------------> |
//	  | <--------------------------- clientReady - |
//	  |   for each size, Repeat times:
//	  | Go --------------------------------------> |
//	  | <---------------------------------- Warm - |
//	  | Usage ----------------> |                |
//	  | Go --------------------------------------> |
//	  | <----------------------------------- Run - |
//	  | Usage, Check ---------> |   Check: only of writes
//
// Reading order: config.go, row.go, run.go (the parent), wire.go, server.go,
// client.go, verbs.go and tcp.go (what a request is).
package micro
