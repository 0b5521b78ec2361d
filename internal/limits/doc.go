// Package limits bounds what peers take from a server: bytes, connections and other
// counted resources (budget.go, source.go, parts.go, memory.go; listener.go and conn.go
// for sockets), their time (slowpeer.go), and processor time (slots.go, job.go, pacer.go;
// handshake.go and package tlsslots for TLS).
package limits
