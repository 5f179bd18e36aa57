#!/bin/sh
# SPDX-License-Identifier: MIT
# h2dpub-replay with each attention, MRoPE and two-batch overlap: every byte that the consumers read
# is verified, on a hostile GPU too, and what is wrong is noticed.
set -u
replay=$H2D_BUILD_DIR/h2dpub-replay
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
unset ATOM_H2D_BACKEND
number=0

result()
{
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number - $2"
	else
		echo "not ok $number - $2"
		sed 's/^/# /' "$directory/out" "$directory/error"
	fi
}

# runs STATUS OPTION...: output and messages go to the directory.
runs()
{
	wanted=$1
	shift
	"$replay" "$@" >"$directory/out" 2>"$directory/error"
	[ $? = "$wanted" ]
}

# is KEY VALUE: a number of the JSON summary.
is()
{
	actual=$(sed -n "s/^ *\"$1\": *\([0-9]*\),*\$/\1/p" "$directory/out")
	[ "$actual" = "$2" ] || {
		echo "$1 is $actual, expected $2" >>"$directory/error"
		return 1
	}
}

# has GROUP: the summary counts it.
has()
{
	grep -q "\"$1_steps\":" "$directory/out"
}

# Requests that keep all sequences busy, few pages, some batches of one request at the end.
workload="--requests 24 --max-num-seqs 9 --max-model-len 3000 --num-pages 500 --step-time 60000
	--steps 40 --json"

for backend in packed direct pull; do
	for options in \
		"--attention mha --mrope" \
		"--attention mha --tbo --slots 1" \
		"--attention mha --mrope --tbo --page-size 4 --speculative 3" \
		"--attention mla --page-size 1 --slots 1" \
		"--attention mla --mrope --page-size 8" \
		"--attention mla --mrope --tbo --page-size 1 --speculative 2"; do
		# shellcheck disable=SC2086 # several words
		runs 0 $workload --backend $backend $options && is verified_steps 40 &&
			is mismatches 0 && case $options in
			*mla*) has mla_decode && ! has mha_decode ;;
			*) has mha_decode && ! has mla_decode ;;
			esac && case $options in
			*mrope*) has mrope ;;
			*) ! has mrope ;;
			esac && case $options in
			*tbo*) has tbo ;;
			*) ! has tbo ;;
			esac
		result $? "$backend $options"
	done
	# shellcheck disable=SC2086 # several words
	SOFTGPU_L2S=3 SOFTGPU_DELAY=40 SOFTGPU_REORDER=1 runs 0 $workload --backend $backend \
		--attention mla --mrope --tbo && is verified_steps 40 && is mismatches 0
	result $? "$backend, hostile"
done

runs 2 --attention gqa && grep -q "option --attention: .*gqa.* is not mha or mla" "$directory/error"
result $? "an unknown attention"
runs 2 --attention && grep -q "no value" "$directory/error"
result $? "no attention"
runs 2 --tbo --max-num-seqs 1 && grep -q "option --tbo: .* cannot be split" "$directory/error"
result $? "a batch that cannot be split"

# About twenty arrays are read after each step, a different one each time.
LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$H2D_BUILD_DIR/tests/tools/.libs/wrong_read.so"
ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
export LD_PRELOAD ASAN_OPTIONS
for read in 200 301 402; do
	# shellcheck disable=SC2086 # several words
	WRONG_READ=$read runs 1 $workload --slots 1 --attention mla --mrope --tbo &&
		is mismatched_steps 1 && is mismatches 1 &&
		grep -q "^h2dpub-replay: step [0-9]*: .* is .*, expected" "$directory/error"
	result $? "a wrong byte in read $read is noticed"
done
echo "1..$number"
