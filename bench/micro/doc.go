// Package micro measures a transport with one client that has one request
// outstanding, by the bytes of the request: figure 9 of the Catfish paper
// (ICDCS 2019). Two processes communicate, pinned to different cores:
//
//	operation  client                       server
//	tcp        sends 1 byte over a socket   answers with n bytes
//	read       RDMA Read of n bytes         does not use its processor
//	write      RDMA Write of n bytes        does not use its processor
//
// Latency is the time from one completion at the client to the next: for tcp
// until the last byte of the answer was read, for read and write until the
// completion was polled. A Write's completion says that the bytes have
// arrived, so it holds a whole round trip. Each latency contains one reading
// of the clock and its own recording, some 60 ns. The loop is closed, so
// requests per second are 1 / the mean latency.
//
// The results are compared too: afterwards the destination must hold all bytes
// that the measured requests moved, and no others. The server's process
// compares Writes, in its own memory.
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
// client.go, verbs.go and tcp.go (the requests).
package micro
