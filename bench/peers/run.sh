#!/usr/bin/env bash
# Compares package rstar with its peers; `make bench-tree` calls it.
#
#   OBJECTS          objects of a data set (default 2000000)
#   COUNT            rounds (default 6: the fewest from which benchstat
#                    derives a 95 % confidence interval)
#   PEERS            such as tidwall,geos (default: all there are headers
#                    for); catfish always runs
#   BENCH            rows, such as 'op=search,nearest data=uniform'
#   BENCHTIME        time of a row (default 1s; 50ms below 1000000 objects,
#                    which is for a quick look)
#   CORE             core that single-threaded rows run on (default 1)
#   CATFISH_ANDORRA  OpenStreetMap file of data=andorra
#
# A round is a process per data set: its trees are built anew, so that
# luck with the memory they get is part of the spread, and no tree of
# another data set is in the garbage collector's way. benchstat and
# cmd/ratio compare the rounds.
set -euo pipefail
cd "$(dirname "$0")"

bin=$(cd ../.. && pwd)/bin
out=$bin/bench-tree.txt
core=${CORE:-1}
mkdir -p "$bin"

# left_out PEERS PACKAGE says which peers do not run and what they want.
left_out() { echo "left out: $1 (apt install $2 g++)"; }
tags= runs=catfish,tidwall,simplefeatures
if ! command -v "${CXX:-g++}" >/dev/null; then
	left_out boost-rstar16,boost-rstar32,boost-packed16 libboost-dev
	left_out geos libgeos-dev
else
	has() { echo "#include <$1>" | "${CXX:-g++}" -E -x c++ - >/dev/null 2>&1; }
	if has boost/geometry.hpp; then
		tags=boost runs=$runs,boost-rstar16,boost-rstar32,boost-packed16
	else
		left_out boost-rstar16,boost-rstar32,boost-packed16 libboost-dev
	fi
	if has geos_c.h; then
		tags=$tags,geos runs=$runs,geos
	else
		left_out geos libgeos-dev
	fi
fi
tags=${tags#,}
if [ -n "${PEERS:-}" ]; then
	runs=catfish,$PEERS
fi
echo "runs: $runs"

cgo=0
[ -z "$tags" ] || cgo=1
CGO_ENABLED=$cgo go test -c -tags "$tags" -o "$bin/bench-tree.test" .

export CATFISH_BENCH_OBJECTS=${OBJECTS:-2000000}
export CATFISH_BENCH_PEERS=${PEERS:-}

# macro HEADER NAME prints what a header defines.
macro() { printf '#include <%s>\n%s\n' "$1" "$2" | "${CXX:-g++}" -E -P -x c++ - | tail -n 1; }
versions() {
	go list -m -f '{{.Path}} {{.Version}}' github.com/tidwall/rtree \
		github.com/peterstace/simplefeatures | tr '\n' ' '
	[[ $tags != *boost* ]] || echo -n "boost $(macro boost/version.hpp BOOST_LIB_VERSION) "
	[[ $tags != *geos* ]] || echo -n "geos $(macro geos_c.h GEOS_VERSION) "
}

benchtime=${BENCHTIME:-1s}
if [ -z "${BENCHTIME:-}" ] && [ "$CATFISH_BENCH_OBJECTS" -lt 1000000 ]; then
	benchtime=50ms
fi

# rows TERMS COMMAND... runs the rows that BENCH and TERMS both want. Where
# there are none, go test reports the empty benchmark itself.
rows() {
	local terms=$1
	shift
	CATFISH_BENCH_ROWS="${BENCH:-.} $terms" "$@" "$bin/bench-tree.test" \
		-test.run '^$' -test.bench '^BenchmarkTree$' -test.timeout 0 \
		-test.benchtime "$benchtime" | grep -vE --line-buffered '^(BenchmarkTree(-[0-9]+)? |PASS)' |
		tee -a "$out"
}

pin=()
if command -v taskset >/dev/null; then
	pin=(taskset -c "$core")
else
	echo "not pinned: taskset is missing (apt install util-linux)"
fi
cores=$(nproc)
[ "$cores" -ge 2 ] || echo "left out: load with 2 cores, search-beside-writer (1 core)"

{
	echo "# cpu: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $cores cores"
	echo "# $(go version)"
	echo "# commit: $(git describe --always --dirty 2>/dev/null || echo unknown)"
	echo "# objects: $CATFISH_BENCH_OBJECTS"
	echo "# runs: $runs"
	echo "# versions: $(versions)"
} | tee "$out"
for ((round = 1; round <= ${COUNT:-6}; round++)); do
	for data in uniform skewed rea02-like andorra; do
		rows "data=$data op=insert,load,memory,search,nearest,delete" \
			env GOMAXPROCS=1 "${pin[@]}"
		if [ "$cores" -ge 2 ]; then
			rows "data=$data build=load op=load,search-beside-writer" env GOMAXPROCS=2
		fi
	done
done
"$bin/benchstat" -row .fullname -col /impl "$out" > "$bin/bench-tree.stat.txt"
echo "benchstat: bin/bench-tree.stat.txt"
go run ./cmd/ratio "$out"
