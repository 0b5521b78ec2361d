// Package docs measures docs/research/benchmarks.md: a fixed list of benchmarks, each a
// few commands that every reader can repeat, and a page with a table for each.
//
//	Benchmarks   the list, as data (list.go)
//	Sizes        how large and how long: Full, or Quick for a test
//	Runner       runs the commands that are not in the store yet (run.go)
//	Page         makes the page from the results (page.go, table.go)
//
// The commands are run as processes, exactly as the page prints them, but for
// --json, which prints the rows. So the page cannot show a command that was not
// run.
package docs
