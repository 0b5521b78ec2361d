#!/bin/sh
# Runs in the guest, from the share that test.sh filled. Stages:
#
#   conformance  internal/rdma/ofi's suite, over rxe0
#   messages     fastmsg: calls, and answers that clients fetch, with hostile
#                peers and budgets
#   library      catfish's end-to-end and history tests; servers that are
#                stopped and killed
#   records      readers of records and keys; catfish's collections of records,
#                with histories of their keys
#   processes    a server and two clients, then all schemes of bench run,
#                which compares what they return; no memory stays registered
#
# Exits with a status other than 0 if any fails.
set -eu
export CATFISH_OFI_PROVIDER=verbs
# libinfinipath, which Debian's libfabric loads, would otherwise end a
# process that fails in C without Go's trace.
export IPATH_NO_BACKTRACE=1 HFI_NO_BACKTRACE=1
catfish=/share/catfish

conformance() {
	/share/ofi.test -test.v -test.run 'Conformance|Memlock' -test.timeout 400s
}

messages() {
	/share/fastmsg.test -test.short -test.v -test.timeout 400s -test.run \
		'ConcurrentCallers|AbandonedCalls|ServerPostsNothing|ChangesOver|Rides|ToAnswers|AnswersEnd|HostileFetchers|HostileLeavers|RingsCount'
}

library() {
	cd /share/catfish-src/catfish/client
	./catfish.test -test.short -test.v -test.timeout 400s -test.run \
		'TestRestart|TestStoppedServer|TestKilledServer|TestOffloadNeeds|TestHistories|TestHostile|TestExact'
}

records() {
	for p in cuckoo record kv; do
		/share/$p-remote.test -test.short -test.v -test.timeout 400s -test.run \
			'RoundTrips|BesideWriter|Grown|Read$|Unread|Hostile|Kept$|KeptMixed'
	done
	cd /share/catfish-src/catfish/client
	./catfish.test -test.short -test.v -test.timeout 400s -test.run \
		'TestRecords$|TestRecordConditions|TestRecordsByKeptReference|TestKeyHistories|TestRecordsRestarted|TestRecordsGrow'
}

regions() { rdma resource show mr | wc -l; }

processes() {
	$catfish fabric
	$catfish serve --listen 127.0.0.1:7119 --transport ofi --slab-bytes 67108864 \
		--load california >/tmp/serve.out 2>&1 &
	server=$!
	for _ in $(seq 100); do
		grep -q '^ready' /tmp/serve.out && break
		sleep 0.2
	done
	cat /tmp/serve.out
	for policy in fast fetch offload; do
		$catfish search --transport ofi --policy $policy --bbox -119,34,-117,35 >/tmp/found.$policy 2>/tmp/summary.$policy &
		eval "client_$policy=\$!"
	done
	failed=
	for policy in fast fetch offload; do
		eval "wait \"\$client_$policy\"" || failed="$failed $policy"
	done
	# The same objects in all modes.
	cat /tmp/summary.fast /tmp/summary.fetch /tmp/summary.offload
	[ -z "$failed" ] || {
		echo "failed:$failed"
		return 1
	}
	sort /tmp/found.fast >/tmp/a
	[ -s /tmp/a ]
	for policy in fetch offload; do
		sort /tmp/found.$policy | cmp /tmp/a -
	done
	$catfish status --transport ofi
	# Clients that die in the middle must leave no region behind at the server.
	base=$(regions)
	pids=
	for policy in fast fetch offload fast fetch offload; do
		$catfish search --transport ofi --policy $policy --bbox -125,32,-114,42 >/dev/null 2>&1 &
		pids="$pids $!"
	done
	sleep 0.5
	kill -9 $pids 2>/dev/null || :
	for _ in $(seq 50); do
		[ "$(regions)" = "$base" ] && break
		sleep 0.2
	done
	echo "registered regions: $base before, $(regions) after clients were killed"
	[ "$(regions)" = "$base" ]
	kill -9 $server
	wait $server || :
	! $catfish search --transport ofi --bbox -119,34,-117,35 2>/tmp/lost
	grep -q 'no server' /tmp/lost
	$catfish bench run --transport ofi --scheme tcp,fast-polling,fast,fetch,offload-single,offload,paper \
		--dataset california --scale 1e-2 --clients 2 --in-flight 2 --duration 1s \
		--slab-bytes 67108864 --json /tmp/rows.jsonl
	wc -l /tmp/rows.jsonl
	# Every process has ended: the kernel must know of no region.
	[ "$(regions)" = 0 ]
	# Packets that Soft-RoCE sent again explain long tail latencies.
	grep -H . /sys/class/infiniband/rxe0/ports/1/hw_counters/* | sed 's|.*/||' | grep -v ':0$' || :
}

# A stage is a process of its own, because set -e has no effect in a condition.
if [ $# = 1 ]; then
	$1
	exit
fi
failed=
for stage in $(cat /share/stages); do
	echo "== $stage"
	if sh "$0" "$stage"; then
		echo "== $stage passed"
	else
		echo "== $stage FAILED"
		failed=1
	fi
done
[ -z "$failed" ]
