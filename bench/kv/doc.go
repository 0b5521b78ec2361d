// Package kv measures records by key: Catfish's, and those of other servers
// that are compared with them, with the operations of datasets/ycsb. It is what
// `catfish bench kv` runs; package bench is its counterpart for searches, and
// its words and columns are the same ones.
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
// What they say is in wire.go; package child starts and ends them. Every scheme
// of every round gets a fresh server, the same keys and the same operations.
//
// # The load
//
// The loop is closed: each of clients x in-flight goroutines has one call under
// way and times it around the call. With a batch, reads are collected until
// there are as many, and read by one GetMany; other operations do not wait for
// it. A store whose best client sends many operations together (Pipeliner) has
// one goroutine for each client instead, which sends as many as are to be in
// flight and waits for all. The latency of an operation is that of the call that
// it was in.
//
// The loop itself takes some 230 ns of a core for a read (BenchmarkWorker): two
// looks at the clock 80, drawing a key by Zipf's law 90, checking the value 30. A
// store that many goroutines call pays for all of it with each operation, and a
// Pipeliner for the clock once for all that it sends: the comparison favours the
// latter. Clients whose core is full measure themselves, too.
//
// # Right answers
//
// Every value that is read is checked (check.go): it was written for its key,
// and is not older than one that this goroutine has seen before. A key that is
// not found is a wrong answer, since every key that is asked for was written.
// Wrong answers are counted, and make the run fail in the end (ErrWrong).
//
// Read Store for what is measured, Config for the knobs, Row for the figures,
// Run for the driver.
package kv
