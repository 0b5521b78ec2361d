// Package kvlocal measures package kv in one process, without clients: lookups
// beside Go's map, updates with the memory that they take, insertions into
// cuckoo tables, which must not loop, and one Map beside shards. `catfish bench kv-local` calls it.
package kvlocal
