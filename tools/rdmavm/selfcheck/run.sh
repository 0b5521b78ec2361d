#!/bin/sh
# Runs in the guest: shows the device and moves bytes over it, with verbs
# alone and then with libfabric. Exits with a status other than 0 if either
# does not work.
set -eu

title() { printf '\n== %s\n' "$*"; }

# Starts "$@" as a server and the same with 10.0.0.1 as its client, and
# fails if either fails. The client gets a few attempts, because it cannot be
# seen from outside when the server listens.
pair() {
	title "$*"
	"$@" >/tmp/server.log 2>&1 &
	server=$!
	tries=20
	until "$@" 10.0.0.1 >/tmp/client.log 2>&1; do
		tries=$((tries - 1))
		if [ $tries = 0 ] || ! kill -0 $server 2>/dev/null; then
			echo 'FAILED; the server said:'
			cat /tmp/server.log
			echo 'and the client:'
			cat /tmp/client.log
			return 1
		fi
		sleep 0.2
	done
	wait $server
	cat /tmp/client.log
}

title 'ibv_devinfo -v, most of it'
ibv_devinfo -v -d rxe0 | grep -E 'hca_id|transport|max_qp_rd_atom|max_qp_init_rd_atom|max_msg_sz|state|active_mtu|GID'
ibv_devinfo -v -d rxe0 | grep -q 'GID\[  1\]:.*::ffff:10.0.0.1, RoCE v2'

title 'fi_info -p verbs'
fi_info -p verbs -t FI_EP_MSG

title 'locked memory'
ulimit -l

# -g 1: the RoCE v2 address. -e: sleep for events, as servers do.
pair ibv_rc_pingpong -d rxe0 -g 1 -n 1000
pair ibv_rc_pingpong -d rxe0 -g 1 -n 1000 -e
pair fi_pingpong -p verbs -e msg -I 1000 -S 4096
