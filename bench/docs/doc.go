// Package docs measures docs/benchmarks.md: a fixed list of benchmarks, of
// which each is a few commands that anybody can repeat, and a page with a
// table for each.
//
//	Benchmarks   the list, as data (list.go)
//	Sizes        how large and how long: Full, or Quick for a test
//	Runner       runs the commands that are not in the store yet (run.go)
//	Page         makes the page of what is there (page.go, table.go)
//
// The commands are run as processes, exactly as the page prints them, but
// for --json, which tells the rows. So the page cannot say what was not run.
package docs
