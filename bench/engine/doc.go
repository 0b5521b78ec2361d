// Package engine is the engine room of a server: samples of how it and the clients of
// a load are doing, and that load. Package web shows it (web.Engine, docs/engine.md).
//
//	watchers --Next--> Room --Stats--> catfish.Server
//	         --Start-> Room --bench.Drive--> client processes --searches--> the server
//
// Nothing in a sample is simulated. A server does not see reads that its clients make
// by themselves, so what clients offload is known of the load's clients alone: they
// report it each second.
package engine
