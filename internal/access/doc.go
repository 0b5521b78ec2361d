// Package access knows which keys a server takes, and what each may do.
//
// A key is a line of text that its owner sends with each gRPC call, or once for
// each connection over RDMA. The server has a file of key entries (file.go) that
// holds hashes, so that a reader of the file cannot use the keys:
//
//	key         catfish_3f9a1c2b4d5e_0b1c...e9     id, and 256 random bits
//	entry       id, name, sha256 of the key, roles, rate, expiry
//	Keys        the entries of a file as it is now
//	Principal   the owner of a key: what Keys.Authenticate returns
//
// # Why SHA-256 and not Argon2id
//
// Slow hashes make it expensive to guess passwords that people choose. These keys are
// made here from 256 random bits: there is nothing to guess, and no dictionary helps. A
// hash of 64 MiB and 50 ms, on the other hand, would let a client that sends wrong
// keys keep a server busy, and gRPC sends its key with every call.
//
// # Time
//
// A key is found by its id, which is no secret. Then the hashes are compared in
// constant time. If the id is unknown, the key's hash is compared with a fixed one, so
// that the answer takes the same time. The time of a comparison could only reveal the
// stored hash, which is of no use without an input that has this hash.
//
// # Changes
//
// Reload reads the file again: Watch does when it has changed. The Principal of an
// unchanged entry remains, with what its rate has left. The Principals of all other
// entries end (Principal.OnEnd): their connections are closed, and clients whose key is
// still good connect again. A file that cannot be read, or is malformed, changes
// nothing.
package access
