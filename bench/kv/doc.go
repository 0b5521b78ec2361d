// Package kv measures records by key: Catfish's, and those of competing
// servers, with the operations of internal/ycsb. `catfish bench kv` runs it;
// package bench is its counterpart for searches, with the same terms and
// columns.
//
// # Processes
//
//	parent (Run)              server child            client children
//	  | start, ServerJob ------> listen
//	  | <--------------- ready
//	  | start, ClientJob -----------------------------> dial, try, load keys
//	  | <---------------------------------------------- ready
//	  | go -------------------------------------------> warm up
//	  | ask -------------------> usage                   measure
//	  | <----------------- state
//	  | <---------------------------------------------- sample
//	  | ask -------------------> usage, index
//	  | <----------------- state
//	  | close stdin -----------> exit                    exit
//
// The messages are in wire.go; package harness has the conversation. Every
// scheme of every round gets a fresh server, the same keys and the same operations.
//
// # The load
//
// The loop is closed: each of clients x in-flight goroutines has one call in
// flight and times it around the call. With a batch, reads are collected up to
// its size, and read by one GetMany; other operations do not wait for it. A
// store whose best client sends many operations together (Pipeliner) has one
// goroutine for each client instead, which sends all operations that shall be
// in flight and waits for all. The latency of an operation is that of its
// call.
//
// The loop itself takes some 230 ns of a core for a read (BenchmarkWorker):
// two readings of the clock 80, drawing a key by Zipf's law 90, checking the
// value 30. A store that many goroutines call pays for all of it with each
// operation, and a Pipeliner pays for the clock once per call: the comparison
// favours the latter. Clients whose core is full also measure themselves.
//
// # Right answers
//
// Every value that is read is checked (check.go): it was written for its key,
// and is not older than one that this goroutine has seen before. A key that is
// not found is a wrong answer, since every requested key was written. Wrong
// answers are counted, and make the run fail in the end (ErrWrong).
//
// Read Store for the measured interface, Config for the knobs, Row for the
// figures, Run for the driver.
package kv
