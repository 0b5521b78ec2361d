package record

// Readers without locks
//
// One writer at a time changes the heap. In the meantime readers of this process and
// remote ones read the same bytes and take no lock. This is the argument why no reader
// takes a wrong record.
//
// # What the writer does
//
// Put turns a free place into a record:
//
//	(1) the guardian, with the new generation, dead
//	(2) all other bytes
//	(3) the guardian, alive
//
// and gives the reference to no reader before (3). An update is
//
//	(4) Put of the new record
//	(5) index and tree lead to the new one instead of the old one
//	(6) Kill: the old one's guardian, dead; leases end
//	(7) the write is acknowledged
//
// and a deletion the same without the new record. The place of a record that
// died at D with E as the latest end of its leases is used again, by (1),
// after max(D + base grace, E). Until then nothing in it changes but the
// guardian's "alive", once, and the lease word, which readers ignore.
//
// # Readers in time
//
// Call a read in time if all of its lines were read before the place is used again. A
// reader in time that got its reference in one of the ways below sees the bytes of one
// record, whatever the order of the lines: they do not change.
//
// By tree or index: the reader read the reference there at a moment R, after the read
// was posted at P <= R, and continues to read the record until P + base grace. Before
// (5) the record was alive, so its death D is later than R: by then the grace has not
// run out. What it gets is the state of the key at R, which lies within its search,
// even if the guardian is dead. This needs (5) before (6).
//
// By message: the reader sent a request at S, the server granted a lease of L
// at G >= S while the record lived, and the reader reads until S + L <= G + L
// <= E. It takes the record only if the guardian was alive when its line was
// read, at a moment M. By (6) before (7), no write that replaces the record
// was acknowledged before M. So what it gets is the state of the key at M.
//
// A reader knows by its own clock whether it was in time: it reads the clock after the
// completion of the read was polled, and discards records that came too late. No clocks
// are compared between machines. Clocks may run at different rates, by far less than
// the difference between the moments from which the two sides count a lease.
//
// # Late readers
//
// A reader that was stopped anywhere (SIGSTOP, a long scheduling slot of another
// goroutine) and does not read its clock, or that made its reference up, may see any
// mixture of lines of the records that the place has held, and of others that held
// parts of it. It is refused by the content of the bytes:
//
//	generation  of the guardian is another one: the place was used again.
//	            Generations come round, after 255 s at the earliest (ref.go).
//	            The sum would differ, too, but not say why
//	check sum   over key, value, lengths, flags, revision, expiry, reference
//	            and boot number: lines of different records pass once in
//	            2^32 mixtures
//	key         is compared with the one that is wanted
//
// A restarted server has another boot number: bytes left of its predecessor's records
// do not pass, nor do references that were taken from there. A hostile server can, of
// course, make a record that passes, for it may serve any bytes; Parse stays within the
// bytes, and allocates nothing. A hostile client cannot write here but by the server.
// It can store a value that looks like a record, check sum and all. No reference leads
// into a value, but for one that is older than this use of the span: for readers in
// time there is none.
//
// Local readers (Read) do the same on copies by package lines. They can ask the index
// again afterwards: if it still leads to the record, that is alive, so the read was in
// time, without reading a clock (kv.Map.Get). Or they read a clock, and then need no
// check sum (ReadTimely, kv.Map.ReadSince).
//
// # Which stores are ordered
//
// (3) follows (2): an atomic store. (1) precedes (2) under the race detector
// and in tests, and nearly always elsewhere: it is a plain store. Only late
// readers would notice, and they have the check sum.
// The guardian is a word of 8 bytes, aligned, which is read whole even where
// lines are not (rdma.Info.TornLines): the rest of a record that is read in
// time does not change.
//
// # Long records
//
// The head is a record as above, with references to blocks. Blocks are
// written before the head, die with it, and are kept as long as the head; so
// a reader in time of the head reads blocks that do not change. The moment
// that counts is when the head's guardian was read. Late readers are
// refused by a block's generation and check sum. When Compact moves a block
// it makes a new head, too; the old head and the old block are kept by the
// old head's leases. The other blocks belong to the new head. It dies no earlier
// than the old one, and begins with the old one's latest lease, so they are kept as
// long, too.
//
// # The tests
//
// explore_test.go tries every script of a few writes, with time passing, and for each
// script every reader that takes the reference at one moment and reads two lines at any
// two others; of a long record it reads the blocks then. Compact moves records, heads and
// blocks in between. Builds with the tag mutants break each rule above, one at a time, and
// readers must notice (mutant.go); and those in time must not when they do without
// generation or check sum.
