// Package child starts processes of this program that work for it, and
// talks with them.
//
//	parent                      child
//	  | Start: job -----------> Pipe.Read
//	  | Process.Next <--------- Pipe.Note    passed to the parent's note
//	  | Process.Next <--------- Pipe.Write
//	  | Process.Send ---------> Pipe.Read
//	  | Process.Next <--------- Pipe.Fail    becomes ErrFailed
//	  | Process.Stop ---------> end of input
//
// Both speak JSON lines over the child's standard input and output: what a
// line holds is between those who call this package, but the keys "note"
// and "error" are its own. A child whose input ends goes away, so none
// outlives its parent; one that does not is killed.
package child
