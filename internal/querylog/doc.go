// Package querylog is the file format of the requests to a server, as
// `catfish serve --record` writes it and `catfish replay` reads it.
//
// # Layout
//
// A header line, so that head -n 1 shows what a file is, then records back to
// back until the end of the file:
//
//	catfish-querylog 1 2026-11-21T12:00:00.123456789Z\n
//	                 |  start of the recording, UTC
//	                 version
//
// Every record is little-endian and a multiple of 8 bytes:
//
//	 0        2      3     4          8           16       20
//	+--------+------+-----+----------+-----------+--------+------------+
//	| size   | kind | via | checksum | offset ns | client | collection |
//	+--------+------+-----+----------+-----------+--------+------------+
//	 24       28      32
//	+--------+-------+------+
//	| limit  | found | body |
//	+--------+-------+------+
//
//	size        u16  of the whole record
//	kind        u8   see Kind
//	via         u8   how it reached the server, see Via
//	checksum    u32  CRC-32C of the record with these four bytes zero
//	offset      u64  nanoseconds since the start, at which it was carried out
//	client      u32  connections in the order in which they were opened
//	collection  u32  number; a Collection record before gives its name
//	limit       u32  of a search, 0 for none; k of a nearest, 0 for none
//	found       u32  objects found, NotKnown if not; 0 or 1 of a delete or
//	                 an update
//
//	kind         bytes  body
//	Search          64  rectangle: min x, min y, max x, max y, f64 each
//	Count           64  rectangle
//	Nearest         56  x, y, largest distance (+Inf: none), f64 each
//	Insert          72  rectangle, id u64
//	Delete          72  rectangle, id u64
//	Update         104  old rectangle, new rectangle, id u64
//	Collection  40-160  name, 1 to 128 bytes, padded with zeros
//	Dropped         40  requests that were not recorded since the last
//	                    record of this kind, u64
//
// There is one checksum per record, not per block, so that the file of a
// server that was killed can be read up to its last whole record. Records are
// in the order of their offsets.
//
// Readers refuse other versions, and assume nothing about them.
package querylog
