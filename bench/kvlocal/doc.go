// Package kvlocal measures package kv in one process, without clients: lookups
// beside Go's map, updates with the memory that they take, and insertions into
// cuckoo tables, which must not loop. `catfish bench kv-local` calls it.
package kvlocal
