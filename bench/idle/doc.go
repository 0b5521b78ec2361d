// Package idle measures what connections cost that do nothing: memory,
// descriptors and processor time of the server and of the clients' processes.
//
//	parent            server child           client children
//	  | start ----------> serves
//	  | measure --------> Held
//	  | start, clients ------------------------> dial, Held
//	  | measure, twice -> Held                     (nothing happens between)
//	  | pace --------------------------------> the first one searches
//	  | measure, twice -> Held                     (heartbeats go on)
//
// Each measurement first has the garbage of Go's heap collected and given back,
// so that what is left is what the connections keep.
package idle
