// Package kv maps keys to records, in memory that clients read without the server's
// CPU: a cuckoo table (package cuckoo) leads from the hash of a key to a reference, and
// the reference to a record (package record). Clients read both by RDMA Reads, two
// round trips in all, or ask the server.
//
//	key --hash--> | bucket | bucket | --reference--> | key, value, revision |
//	                 cuckoo.Index                          record.Heap
//
// A Map is one such collection at the server.
//
// # Promises
//
// A Get returns the state of its key at a moment of the call; it sees every Put or
// Delete that returned before the call began. That holds for readers without a lock and
// for remote ones (internal/record/readers.go, internal/cuckoo/publish.go): the index leads to the new
// record before the old one is marked dead, and that is before the write returns.
//
// Each write of a Map has a revision, one more than the write before. The first one is
// that after Options.Revision. A server begins each collection with the time, so that
// no revision of a collection before a restart, or of one that was dropped, occurs in
// the next. A store, whose log has the writes, gives them revisions of its own
// (Entry.Revision).
package kv
