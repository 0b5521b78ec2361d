// Command catfish serves, loads and searches spatial indexes, and measures them by
// catfish-bench. Run catfish --help.
//
// It exits with 0 for success, 1 for a failure and 2 for bad usage; the
// reason stands on standard error.
package main

import "github.com/catfish-index/catfish/internal/cli"

// version is stamped by the build.
var version = ""

func main() { cli.Main(version, cli.Program{}) }
