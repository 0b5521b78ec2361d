// Package ycsb makes the operations of YCSB on keys and values: which key,
// read or written, and values that a reader can check.
//
// Sources: Cooper et al., Benchmarking Cloud Serving Systems with YCSB, SoCC
// 2010, and its public core workloads for what is not in the paper; Gray et
// al., Quickly Generating Billion-Record Synthetic Databases, SIGMOD 1994, for
// the Zipf law. Package datasets is for rectangles.
//
//	cfg, err := ycsb.Standard("A")
//	cfg.Keys, cfg.ValueBytes, cfg.Seed = 10_000_000, 32, 1
//	for i := range cfg.Keys {
//		op := cfg.Load(i)
//		put(op.Key, op.AppendValue(nil))
//	}
//	ops, err := cfg.Ops(client)
//	for {
//		switch op := ops.Next(); op.Kind {
//		case ycsb.Read:
//			seq, err := ycsb.CheckValue(op.Key, get(op.Key))
//		case ycsb.Update, ycsb.Insert:
//			put(op.Key, op.AppendValue(buf[:0]))
//		...
//
//	mix                                       YCSB's distribution
//	A   50 % read, 50 % update                Zipfian, theta 0.99
//	B   95 % read, 5 % update                 Zipfian
//	C   100 % read                            Zipfian
//	D   95 % read, 5 % insert                 Latest
//	E   95 % scan of 1 to 100 keys, 5 % insert   Zipfian
//	F   50 % read, 50 % read-modify-write     Zipfian
//
// Any mix goes with any distribution, and [ParseMix] reads others.
//
// # What is random
//
// The configuration, which includes the seed, and the client's number determine
// everything, on every machine to the last bit: tests pin it by hashes. A
// client's operations depend on no other client's. Insertions of clients do not
// collide, since a key's number has its client in it.
//
// Drawing an operation takes about 90 ns with Zipfian and 40 ns with Uniform
// (BenchmarkOps, 2.5 GHz Zen 4) and some hundred bytes a client, for 60 million
// keys as for ten: nothing is prepared.
//
// # What differs from YCSB
//
//   - Keys have 16 bytes, values are one field of any size.
//   - The Zipf law is exact (see [Zipf]), also for theta of 1 and above.
//   - YCSB scatters popular keys by drawing from 10^16 ranks and taking a
//     hash of the rank modulo the number of keys. So the law depends on how
//     ranks fall together, and the most popular key has 3.8 % however many
//     keys there are. Here ranks are permuted, and the law stays what it says:
//     with 10 million keys the most popular one has 5.5 %.
//   - Uniform and Zipfian draw from the loaded keys only. YCSB's Zipfian also
//     meets inserted ones, with the popularity of their place in the hash.
//   - Latest draws from the loaded keys and the client's own insertions. In YCSB
//     one process knows what all of its threads have inserted.
package ycsb
