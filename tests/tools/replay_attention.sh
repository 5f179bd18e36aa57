#!/bin/sh
# SPDX-License-Identifier: MIT
# h2dpub-replay with each attention, contexts shared by ranks, sparse attention, MRoPE, two-batch
# overlap, QSA and PLE: every byte that the consumers read is verified, on a hostile GPU too, and what
# is wrong is noticed.
set -u
# shellcheck source=tests/tools/script.sh
. "$H2D_SOURCE_DIR/tests/tools/script.sh"
program=$H2D_BUILD_DIR/h2dpub-replay
unset ATOM_H2D_BACKEND

# has GROUP: the summary counts it.
has()
{
	grep -q "\"$1_steps\":" "$directory/out"
}

# members N: so many of MLA were published one by one in each of 40 steps, unchanged tables aside.
members()
{
	published=$(($(figure mla_decode_dma_copies) + $(figure uploads_omitted)))
	[ $published = $((40 * $1)) ] || {
		echo "$published copies in 40 steps of $1 members" >>"$directory/error"
		return 1
	}
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
	# Members of MLA, then options: its own six, one more for ranks, two for sparse attention, four
	# for both.
	for options in \
		"7 --dcp-size 4 --dcp-rank 3 --slots 1" \
		"7 --dcp-size 7 --dcp-interleave 4 --page-size 1 --mrope" \
		"8 --sparse 500 --tbo --slots 1" \
		"8 --sparse 1 --page-size 4 --speculative 3" \
		"10 --dcp-size 2 --dcp-rank 1 --sparse 200 --speculative 2 --ragged 4" \
		"10 --dcp-size 3 --dcp-rank 1 --dcp-interleave 2 --sparse 9 --tbo --ragged 3 --slots 1"
	do
		count=${options%% *}
		options=${options#* }
		case $options in
		# MLA publishes no positions then
		*mrope*) count=$((count - 1)) ;;
		esac
		# shellcheck disable=SC2086 # several words
		runs 0 $workload --backend $backend --attention mla $options &&
			is verified_steps 40 && is mismatches 0 &&
			{ [ $backend = pull ] || members "$count"; }
		result $? "$backend $options"
	done
	for options in \
		"--attention mha --ragged 1 --slots 1" \
		"--attention mha --ragged 5 --speculative 3 --mrope" \
		"--attention mla --ragged 4 --tbo"; do
		# shellcheck disable=SC2086 # several words
		runs 0 $workload --backend $backend $options && is verified_steps 40 &&
			is mismatches 0 && is qsa_steps 40 && is ple_steps 40
		result $? "$backend $options"
	done
	for options in "" \
		"--dcp-size 4 --dcp-rank 1 --dcp-interleave 2 --sparse 100 --ragged 4"; do
		# shellcheck disable=SC2086 # several words
		SOFTGPU_L2S=3 SOFTGPU_DELAY=40 SOFTGPU_REORDER=1 runs 0 $workload \
			--backend $backend --attention mla --mrope --tbo $options &&
			is verified_steps 40 && is mismatches 0
		result $? "$backend, hostile $options"
	done
done

# The summary says what ran; workers are of one rank after the other.
options="--attention mla --dcp-size 4 --dcp-rank 3 --dcp-interleave 8 --sparse 100 --ragged 4"
# shellcheck disable=SC2086 # several words
runs 0 $workload $options --workers 2 && is verified_steps 80 && is mismatches 0 &&
	is dcp_size 4 && is dcp_rank 3 && is dcp_interleave 8 && is index_topk 100 && is qsa_ratio 4
result $? "workers of two ranks"
# shellcheck disable=SC2086 # several words
runs 0 --requests 5 --steps 10 $options &&
	grep -q "^  context parallelism  *rank 3 of 4, interleave 8\$" "$directory/out" &&
	grep -q "^  sparse attention  *at most 100 tokens selected\$" "$directory/out" &&
	grep -q "^  QSA tokens  *4 to a compressed one\$" "$directory/out"
result $? "table"

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

# One step on one slot: behind the 30 arrays as the device holds them at first it reads those of the
# step. The last byte of each is wrong once.
step="--requests 5 --steps 1 --slots 1 --attention mla --dcp-size 2 --sparse 50 --ragged 4 --tbo"
named=
read=31
while
	# shellcheck disable=SC2086 # several words
	WRONG_READ=$read runs 1 $step
do
	named="$named $(sed -n 's/^h2dpub-replay: step 1: \([a-z0-9_]*\)\[.*/\1/p' "$directory/error")"
	read=$((read + 1))
done
for array in g_kv_indptr dcp_local_context_lens sparse_kv_indptr batch_id_per_q_token \
	ub0_g_kv_indptr ub0_sparse_kv_indptr ub1_g_kv_indptr ub1_sparse_kv_indptr \
	qsa_token_to_req qsa_logical_positions qsa_compressed_slots ple_has_initial_state; do
	case "$named " in
	*" $array "*) true ;;
	*)
		echo "found in:$named" >>"$directory/error"
		false
		;;
	esac
	result $? "a wrong byte of $array is found"
done
echo "1..$number"
