// Package jakiro has published protocols of key-value stores to the letter, over package rdma and a
// key-value map: RFP's, in rfp.go, and HydraDB's messages, in indicator.go.
//
// # RFP's
//
// This is the protocol of RFP's store (Su et al., "RFP: A Remote Fetching
// Paradigm for RDMA-Accelerated Systems", section IV). `catfish bench kv --scheme literal` runs it beside Catfish's own
// fetched answers.
//
//	client thread                                 server thread (of the key)
//	  request: header 2 B | body | tail 1 B --Write--> request buffer, polled
//	                                              executes, clears the request
//	                                              clears the next buffer's header
//	                                              puts the result, then its header
//	  F bytes of the current buffer <--Read-- 8 response buffers: header 2 B | body
//	     no status: again
//	     longer than F: one Read more, of the rest
//
// Both sides know which buffer is current (CRBP): it moves on with each call. The header is
// a status bit and 15 bits of size. A request with no value is a GET; its result is
// the value's length in 2 bytes and the value.
//
// # What it relies on
//
// Package rdma promises neither of two things, and so Catfish's own messages do without:
//
//   - the bytes of one Write appear in the order of their addresses, so that header and
//     tail show that what is between them has arrived;
//   - a Read samples the lines of 64 bytes in the order of their addresses, so that a header shows
//     that the lines after it are those of its result. A Read of one line needs no such promise.
//
// Cards do so in practice, and shared memory's copies do on amd64. Devices that may tear a line
// (rdma.Info.TornLines) are refused. A client that falls back to written answers is
// in the paper's successor only: this one never does.
package jakiro
