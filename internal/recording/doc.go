// Package recording writes the requests that a server executed into a
// file, in the format of package querylog, without delaying the server.
//
// Each worker has a tap: it encodes its requests into a buffer that no other
// goroutine touches, and hands the whole buffer over when it is full or some
// milliseconds old. Requests over plain sockets and gRPC share one tap behind
// a lock. The writer, a separate goroutine, merges the buffers by time, adds
// the checksums and writes the file.
//
//	worker ---> tap: buffer --full, or old---> queue \
//	worker ---> tap: buffer --full, or old---> queue  > merge, seal ---> file
//	sockets --> lock, tap:  buffer ----------> queue /
//
// tap.go has the tap, and explains why the file is in order of time;
// writer.go has the writer.
//
// A worker never waits for the file. When too many buffers are queued, the
// next one is discarded, and the loss is counted, logged, shown by Stats and
// noted in the file.
package recording
