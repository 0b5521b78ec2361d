// Package wire has the messages between client and server: their kinds, and the bytes of
// each request and answer. Both sides encode and decode by the same functions, which
// check all that they are given. All integers are little-endian.
package wire
