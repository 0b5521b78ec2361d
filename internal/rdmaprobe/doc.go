// Package rdmaprobe tests a provider of package rdma, in the spirit of
// ib_read_lat and ib_write_bw: it opens two devices in this process, connects
// them, and for each operation and size
//
//	checks    that the bytes arrive, all of them and no others beside them
//	latency   one request outstanding at a time
//	rate      Outstanding of them, posted again in batches as they end
//
// The latency of an operation is the time for:
//
//	read, write       Post until the completion was polled
//	write-with-imm    Post until the target polled the event: one way
//
// Both sides run on one goroutine, so no figure contains a hand-over between
// goroutines, and all contain one reading of the clock (some 50 ns). A card
// that is tested over itself sends nothing over the wire.
//
// Package bench/micro, whose two sides are processes, shares Next and Fill.
//
// Reading order: probe.go, pair.go (set-up), complete.go, check.go, measure.go.
package rdmaprobe
