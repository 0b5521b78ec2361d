// Package child starts processes of this program that work for it, and
// exchanges messages with them.
//
//	parent                      child
//	  | Start: job -----------> Pipe.Read
//	  | Process.Next <--------- Pipe.Note    passed to the parent's note
//	  | Process.Next <--------- Pipe.Write
//	  | Process.Send ---------> Pipe.Read
//	  | Process.Next <--------- Pipe.Fail    becomes ErrFailed
//	  | Process.Stop ---------> end of input
//
// Both speak JSON lines over the child's standard input and output: the
// callers of this package define the contents of a line, but the keys "note"
// and "error" are reserved. A child exits when its input ends, so none
// outlives its parent; one that does not exit is killed.
package child
