#!/bin/sh
# SPDX-License-Identifier: MIT
# h2dpub-replay with worker processes: each publishes and verifies every step on its own GPU from
# delta messages; one that loses a message or comes late asks for whole tables and gets them.
set -u
# shellcheck source=tests/tools/script.sh
. "$H2D_SOURCE_DIR/tests/tools/script.sh"
program=$H2D_BUILD_DIR/h2dpub-replay
unset ATOM_H2D_BACKEND
TMPDIR=$directory
export TMPDIR

# The same as elsewhere, but bounded: several processes wait for each other.
runs()
{
	wanted=$1
	shift
	timeout 60 "$program" "$@" >"$directory/out" 2>"$directory/error"
	[ $? = "$wanted" ]
}

workload="--requests 40 --max-num-seqs 17 --max-model-len 3000 --num-pages 230 --step-time 1000
	--steps 80 --json"

# shellcheck disable=SC2086 # several words
runs 0 $workload && is workers 0
result $? "one process"
bytes=$(figure bytes)
hits=$(figure hits)
for backend in packed direct pull; do
	# shellcheck disable=SC2086 # several words
	runs 0 $workload --backend $backend --workers 2 && is workers 2 && is verified_steps 160 &&
		is mismatches 0 && is messages 80 && is whole_messages 1 && is whole_requests 0 &&
		is skipped_steps 0 && is bytes $((2 * bytes)) && is hits $((2 * hits)) &&
		[ "$(figure message_bytes)" -lt "$(figure whole_table_bytes)" ]
	result $? "$backend: two workers publish what one process does"
done
[ -z "$(find "$directory" -name 'h2dpub-*')" ]
result $? "no socket is left behind"

# sockets PROCESS: how many names the sockets of this scheduler have.
sockets()
{
	grep -c "@h2dpub-$1-" /proc/net/unix
}

# becomes VALUE COMMAND...: it prints this within half a minute.
becomes()
{
	value=$1
	shift
	for _ in $(seq 600); do
		[ "$("$@")" = "$value" ] && return
		sleep 0.05
	done
	echo "$* prints $("$@"), expected $value" >>"$directory/error"
	return 1
}

# A late worker is there too, but waits. Each socket is seen once, and once per worker connected.
for signal in TERM KILL; do
	: >"$directory/out"
	"$program" --requests 100000 --steps 100000 --workers 3 --late-worker 90000 \
		>"$directory/out" 2>"$directory/error" &
	process=$!
	becomes 6 sockets $process && [ -z "$(find "$directory" -name 'h2dpub-*')" ]
	result $? "SIG$signal: two workers have joined without a file"
	kill -s $signal $process
	wait $process 2>"$directory/error"
	[ $? -gt 128 ] && becomes 0 sockets $process &&
		[ -z "$(find "$directory" -name 'h2dpub-*')" ]
	result $? "SIG$signal: no socket is left behind"
done

# shellcheck disable=SC2086 # several words
runs 0 $workload --workers 2 --late-worker 10 && is mismatches 0 &&
	[ "$(figure whole_requests)" -ge 1 ] && [ "$(figure whole_messages)" -ge 2 ] &&
	[ "$(figure skipped_steps)" -ge 9 ] &&
	[ $(($(figure verified_steps) + $(figure skipped_steps))) = 160 ] &&
	[ "$(figure verified_steps)" -gt 95 ]
result $? "a late worker gets whole tables"

(
	LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$H2D_BUILD_DIR/tests/tools/.libs/lost_message.so"
	ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
	export LD_PRELOAD ASAN_OPTIONS
	# shellcheck disable=SC2086 # several words
	LOST_MESSAGE=20 runs 0 $workload --workers 2
) && is mismatches 0 && [ "$(figure whole_requests)" -ge 2 ] &&
	[ "$(figure whole_messages)" -ge 2 ] && [ "$(figure skipped_steps)" -ge 2 ] &&
	[ "$(figure skipped_steps)" -le 6 ] &&
	[ $(($(figure verified_steps) + $(figure skipped_steps))) = 160 ]
result $? "workers that lost a message get whole tables"

runs 0 --requests 5 --steps 10 --workers 2 &&
	grep -q '^  messages  *10, 1 of them with whole tables$' "$directory/out"
result $? "table"
runs 2 --late-worker 3 && grep -q 'there are no --workers' "$directory/error"
result $? "a late worker needs workers"
# shellcheck disable=SC2086 # several words
runs 0 $workload --workers 2 --late-worker 1000 && is verified_steps 80 && is mismatches 0
result $? "a worker that is never started in time"
echo "1..$number"
