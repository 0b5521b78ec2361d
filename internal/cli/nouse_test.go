package cli

import (
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// A flag that would do nothing is refused, before the program opens, starts or
// connects to anything.
func TestNoUse(t *testing.T) {
	csv, _ := sample(t)
	const (
		osm   = "../../datasets/testdata/andorra.osm.pbf"
		query = "--bbox 0,0,1,1"
		any0  = "serve --listen 127.0.0.1:0 "
	)
	for args, says := range map[string]string{
		"search " + query + " --policy tcp --transport shm":                "--transport shm with --policy tcp",
		"search " + query + " --policy tcp --fabric-device x":              "--fabric-device does nothing with --policy tcp",
		"count " + query + " --transport shm --fabric-addr x":              "--fabric-addr does nothing with --transport shm",
		"insert --id 1 " + query + " --transport soft --fabric-provider x": "--fabric-provider does nothing with --transport soft",
		"search " + query + " --policy fast --cache-bytes 65536":           "--cache-bytes does nothing with --policy fast",
		"nearest --point 1,1 --transport tcp --trust-cache":                "--trust-cache does nothing with --policy tcp",
		"search " + query + " --policy paper --trust-cache":                "--trust-cache does nothing without a cache",
		"kv get a --policy fast --shared-pointers f":                       "--shared-pointers does nothing with --policy fast, which keeps no references",
		"kv get a --policy offload --shared-pointers f":                    "--shared-pointers does nothing without a cache: want --cache-bytes",
		"search " + query + " --cache-bytes -1 --trust-cache":              "--trust-cache does nothing without a cache",
		"insert --id 1 " + query + " --cache-bytes 65536":                  "unknown flag: --cache-bytes",
		"load --file uniform --threshold 0.8":                              "unknown flag: --threshold",

		any0 + "--collection a,b,a":                     "--collection lists a twice",
		any0 + "--transport shm,soft,shm":               "--transport lists shm twice",
		any0 + "--seed 1":                               "--seed does nothing without --load",
		any0 + "--read-memory 5":                        "--read-memory does nothing without --load",
		any0 + "--transport soft --socket /x":           "--socket does nothing with --transport soft",
		any0 + "--transport tcp --polling":              "--polling does nothing with --transport tcp",
		any0 + "--transport shm,soft --fabric-device x": "--fabric-device does nothing with --transport shm,soft",
		any0 + "--seed 1 --load " + csv:                 "--seed does nothing without a generator",
		any0 + "--highways --load uniform":              "--highways does nothing without an OpenStreetMap file",
		any0 + "--osm nodes --highways --load " + osm:   "--highways does nothing with --osm nodes",
		any0 + "--read-memory 5 --load " + csv:          "--read-memory does nothing without an OpenStreetMap, GeoJSON",
		"gen uniform --osm ways":                        "--osm does nothing without an OpenStreetMap file",
		"load --seed 3 --file " + csv:                   "--seed does nothing without a generator",
		"check --seed 3":                                "--seed does nothing without files",
		"check --slab-bytes 1000000":                    "--slab-bytes does nothing without files",
		"check uniform --server x":                      "--server does nothing with files",
		"check uniform --policy fast":                   "--policy does nothing with files",
	} {
		clitest.Fail(t, ExitUsage, strings.Fields(args), says, "--help' for usage.")
	}
}
