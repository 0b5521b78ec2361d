// Package daemon serves everything that 'catfish serve' does, in any program: a server
// of rings and plain sockets, gRPC, HTTP with the page of places, keys, TLS, metrics with
// probes, and traces. The example serves a directory.
//
// # Start
//
//	New     checks the options, reads keys and certificates, opens the server, and
//	        listens at all addresses. If one step fails, all that was opened is closed.
//	Start   serves at all addresses, and loads: what DataDir holds, and beside it what
//	        Options.Load adds. Then Options.Fill fills what is kept. It opens the collections of
//	        Server.Loading, lets gRPC and HTTP serve features, and returns. A member of a
//	        group joins it before Fill.
//
// # Readiness
//
// While Start loads, clients connect, and every collection that is not loaded refuses
// requests by an error that is safe to repeat: catfish.ErrNotReady, UNAVAILABLE over gRPC,
// 503 over HTTP. /healthz answers 200; /readyz, and the health of the gRPC server, say
// that it is not ready.
//
// # Failure
//
// Services end together. If one fails later, rings and plain sockets are closed,
// Options.Load is interrupted, and Wait, or Start if it still loads, returns an error that
// names the service. Then the program calls Close, as at any end.
//
// # Stop
//
// Close closes rings, plain sockets and metrics. gRPC and HTTP accept no more
// connections, and their calls in flight may finish until its context ends; streams and
// watches end at once. Then the last traces are sent, and the store and the server close.
package daemon
