#!/bin/sh
# Runs in the guest, from the share that test.sh filled: the conformance
# tests of rdma/ofi and then the command, over rxe0. Ends with a status
# other than 0 if either fails.
set -eu
export CATFISH_OFI_PROVIDER=verbs
# libfabric links to libinfinipath, whose handler of SIGSEGV would end the
# process before Go says which goroutine it was.
export IPATH_NO_BACKTRACE=1

conformance() {
	echo '== ofi.test'
	/share/ofi.test -test.v -test.run Conformance -test.timeout 200s
}

# A server and two clients. To be filled in when the command knows the
# provider:
#   /share/catfish serve ... &
#   /share/catfish bench run ... & /share/catfish bench run ...
processes() {
	echo '== catfish: no test yet'
	/share/catfish version
}

failed=0
if [ -e /share/ofi.test ]; then
	conformance || failed=1
fi
if [ -e /share/catfish ]; then
	processes || failed=1
fi
exit $failed
