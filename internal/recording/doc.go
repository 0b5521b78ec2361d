// Package recording writes what a server was asked into a file, in the
// format of package querylog, without holding up those who serve.
//
// Each worker has a tap: it encodes what it has carried out into a buffer
// that nobody else touches, and hands over the whole buffer when it is
// full, or some milliseconds old. What comes by plain sockets and gRPC
// shares one tap behind a lock. A goroutine of its own merges what was
// handed over by time, adds the checksums and writes the file.
//
//	worker ---> tap: buffer --full, or old---> queue \
//	worker ---> tap: buffer --full, or old---> queue  > merge, seal ---> file
//	sockets --> lock, tap:  buffer ----------> queue /
//
// tap.go has the tap and what keeps the file in order of time, writer.go
// the goroutine.
//
// Nothing waits for the file: when too many buffers wait for it, the next
// is emptied instead, and the loss is counted, logged, shown by Stats and
// put into the file.
package recording
