// Package rdmaprobe tries a provider of package rdma out, in the spirit
// of ib_read_lat and ib_write_bw: it opens two devices in this process,
// connects them, and for each operation and size
//
//	checks    that the bytes arrive, all of them and nothing beside them
//	latency   one request outstanding at a time
//	rate      Outstanding of them, posted again in batches as they end
//
// What the latency of an operation is:
//
//	read, write       Post until the completion was polled
//	write-with-imm    Post until the target polled the event: one way
//
// Both sides run on one goroutine, so no figure contains a hand-over
// between goroutines, and all contain a look at the clock (some 50 ns).
// A card that is tried over itself sends nothing over the wire.
//
// Reading order: probe.go, pair.go (set-up), check.go, measure.go.
package rdmaprobe
