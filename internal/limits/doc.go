// Package limits bounds what peers take from a server: bytes, connections and other
// counted resources (budget.go, memory.go, source.go, listener.go, conn.go), and processor time (slots.go, job.go,
// pacer.go; handshake.go for TLS).
package limits
