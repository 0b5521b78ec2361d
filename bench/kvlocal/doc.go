// Package kvlocal measures package kv in one process, without clients: lookups
// compared with Go's map, updates with their memory, insertions into cuckoo
// tables, which must not loop, and one Map compared with shards. `catfish bench
// kv-local` calls it.
package kvlocal
