// Package record keeps records (a key, a value, flags, a revision, an expiry)
// in memory that remote clients read by RDMA Reads, without the server's CPU.
// It follows HydraDB's items (section 4.2.3: a guardian word, changes out of
// place, leases), with a generation in references and a check sum.
//
// A Ref, 64 bits, says where a record is, how long it is, and which use of
// that place is meant: one read fetches any record up to 64 KiB, two round
// trips a longer one. Heap is the writer's side: Put writes a record, Kill
// marks one as dead, Grant gives a client the right to keep a reference for
// some seconds, Reclaim frees places that no reader may read any more, Compact empties
// sparse spans. Space is the reader's side: it takes a record from bytes that were
// read, believing nothing. Package internal/record/remote reads over RDMA.
//
// The heap has no index. An update is
//
//	ref, err := h.Put(r, now)     // the new record
//	... index and tree: ref instead of old
//	err = h.Kill(old, now)        // before the write is acknowledged
//
// Which order matters, and why no reader takes a wrong record, is argued in
// readers.go.
//
// A Ref that a reader holds is good for
//
//   - a search that read it in tree or index: for the base grace (1 s) from
//     when that read was posted, whether the record is dead or not;
//   - a client that was granted a lease: until that has ended, counted from
//     when it sent its request, and only while the record is alive.
//
// # Reading order
//
// ref.go, layout.go, readers.go (the argument), write.go, heap.go; class.go,
// span.go, retire.go, lease.go, compact.go, long.go; view.go and read.go.
package record
