// Package idle measures the costs of idle connections: memory, descriptors and
// processor time of the server and of the clients' processes.
//
//	parent            server child           client children
//	  | start ----------> serves
//	  | measure --------> Held
//	  | start, clients ------------------------> dial, Held
//	  | measure, twice -> Held                     (nothing happens between)
//	  | pace --------------------------------> the first one searches
//	  | measure, twice -> Held                     (heartbeats continue)
//
// Each measurement first collects the garbage of Go's heap and returns it to
// the system, so that the rest is the connections' memory.
package idle
