#!/bin/sh
# SPDX-License-Identifier: MIT
# h2dpub-replay --prefill: each forward of admitted requests is published and every byte that its
# consumers read verified, with each attention, in chunks, on shared prefixes and on a hostile GPU;
# what is wrong is noticed.
set -u
# shellcheck source=tests/tools/script.sh
. "$H2D_SOURCE_DIR/tests/tools/script.sh"
program=$H2D_BUILD_DIR/h2dpub-replay
unset ATOM_H2D_BACKEND

# Few pages, so that requests are preempted and prefilled again, and chunks that begin in the middle
# of prompts.
workload="--requests 24 --max-num-seqs 9 --max-model-len 3000 --num-pages 420 --step-time 60000
	--steps 40 --json"
chunked="$workload --prefill --prefill-tokens 700"

# all_verified: and there were prefills of both kinds.
all_verified()
{
	is verified_steps 40 && is mismatches 0 &&
		is prefill_verified_steps "$(figure prefill_steps)" &&
		[ "$(figure prefill_cached_steps)" -gt 5 ] &&
		[ "$(figure prefill_cached_steps)" -lt "$(figure prefill_steps)" ]
}

# of GROUP: it was published in every prefill step.
of()
{
	is "$1_steps" "$(figure prefill_steps)"
}

for backend in packed direct pull; do
	# shellcheck disable=SC2086 # several words
	runs 0 $chunked --backend $backend && all_verified && of prefill_inputs &&
		[ "$(figure preemptions)" -gt 0 ] &&
		is prefill_consumer_dispatches $((2 * $(figure prefill_cached_steps)))
	result $? "$backend"
	steps=$(figure prefill_steps)
	cached=$(figure prefill_cached_steps)
	copies=$(figure prefill_inputs_dma_copies)
	case $backend in
	packed) [ "$copies" = "$steps" ] && is prefill_inputs_dispatches "$steps" ;;
	pull) [ "$copies" = 0 ] && is prefill_inputs_dispatches "$steps" ;;
	direct)
		# slots, contexts, prefix and positions; with cached tokens two more and the
		# block table, unless the device holds it already
		[ "$copies" -gt $((4 * steps + 2 * cached)) ] &&
			[ "$copies" -le $((4 * steps + 3 * cached)) ] &&
			is prefill_inputs_dispatches 0
		;;
	esac
	result $? "$backend: what prefill_inputs take"
	echo "$steps $(figure prefill_tokens) $(figure prefill_inputs_bytes)" \
		>"$directory/figures.$backend"
	for options in \
		"--slots 1 --page-size 4 --mrope" \
		"--slots 3 --tbo --ragged 5" \
		"--slots 3 --speculative 3 --mrope --ragged 4" \
		"--attention mla --slots 1" \
		"--attention mla --page-size 1 --speculative 2 --ragged 3" \
		"--attention mla --dcp-size 4 --dcp-rank 3 --dcp-interleave 2 --slots 1 --mrope" \
		"--attention mla --sparse 500 --tbo --slots 3" \
		"--attention mla --dcp-size 3 --dcp-rank 1 --sparse 9 --speculative 1 --ragged 4"; do
		# shellcheck disable=SC2086 # several words
		runs 0 $chunked --backend $backend $options && all_verified && of prefill_inputs &&
			case $options in
			*mla*) of mla_prefill ;;
			*) is mla_prefill_steps "" ;;
			esac && case $options in
			*mrope*) of prefill_mrope ;;
			*) is prefill_mrope_steps "" ;;
			esac && case $options in
			*ragged*) of prefill_qsa && of prefill_ple ;;
			*) is prefill_qsa_steps "" ;;
			esac && case $options in
			*speculative*) of prefill_token_inputs ;;
			*) is prefill_token_inputs_steps "" ;;
			esac
		result $? "$backend $options"
	done
	for options in "--slots 1" "--slots 3 --speculative 2 --ragged 4" \
		"--slots 3 --attention mla --dcp-size 2 --sparse 100 --ragged 4 --mrope --tbo"; do
		# shellcheck disable=SC2086 # several words
		SOFTGPU_L2S=3 SOFTGPU_DELAY=60 SOFTGPU_REORDER=1 \
			runs 0 $chunked --backend $backend $options && all_verified
		result $? "$backend, hostile $options"
	done
done
cmp -s "$directory/figures.packed" "$directory/figures.direct" &&
	cmp -s "$directory/figures.packed" "$directory/figures.pull"
result $? "all backends publish the same bytes"

# The decode steps are the same ones, and without the option nothing is said of prefills.
# shellcheck disable=SC2086 # several words
runs 0 $chunked && for key in generated_tokens preemptions most_pages_in_use mha_decode_steps; do
	echo "$key $(figure $key)"
done >"$directory/with"
# shellcheck disable=SC2086 # several words
runs 0 $workload && for key in generated_tokens preemptions most_pages_in_use mha_decode_steps; do
	echo "$key $(figure $key)"
done >"$directory/without" && cmp -s "$directory/with" "$directory/without" && ! shows prefill
result $? "the same decode steps without it"

# 600 tokens and twice the 88 behind the 512 that are shared; then of the same three in two steps.
for request in 1 2 3; do
	echo '{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [1, '$request']}'
done >"$directory/trace"
shared="--trace $directory/trace --max-model-len 2000 --max-num-seqs 4 --json --prefill"
# shellcheck disable=SC2086 # several words
runs 0 $shared && is prefill_steps 1 && is prefill_cached_steps 1 && is prefill_requests 3 &&
	is prefill_tokens 776 && is prefill_max_tokens 2048 && is decode_steps 4 && is mismatches 0
result $? "shared prefixes are cached"
# shellcheck disable=SC2086 # several words
runs 0 $shared --prefill-tokens 388 && is prefill_steps 2 && is prefill_cached_steps 1 &&
	is prefill_requests 4 && is prefill_tokens 776 && is mismatches 0
result $? "shared prefixes in two steps"

# A request that wants one token is only prefilled.
printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,100,1\n' >"$directory/trace"
runs 0 --trace "$directory/trace" --prefill --json && is prefill_steps 1 && is decode_steps 0 &&
	is verified_steps 0 && is prefill_verified_steps 1 && is mismatches 0
result $? "only a prefill"

# shellcheck disable=SC2086 # several words
runs 0 $chunked --no-verify && is prefill_verified_steps 0 && [ "$(figure prefill_steps)" -gt 10 ]
result $? "--no-verify"
runs 0 --requests 5 --steps 10 --max-model-len 3000 --prefill && shows '^Prefill$' &&
	shows '^  prefill steps  *[1-9][0-9]*, [0-9]* of them with cached tokens$' &&
	shows '^  tokens  *[1-9][0-9]*, at most 2048 a step$' &&
	shows '^  prefill_inputs  *1.00 DMA copies, 1.00 dispatches, [0-9]* bytes a step$' &&
	shows '^  prefill steps verified  *[1-9]'
result $? "table"
runs 2 --prefill --workers 2 &&
	grep -q "^h2dpub-replay: option --prefill: --workers get decode steps only\$" \
		"$directory/error"
result $? "no prefills for workers"
runs 2 --prefill-tokens 100 &&
	grep -q "^h2dpub-replay: option --prefill-tokens: there is no --prefill\$" \
		"$directory/error"
result $? "--prefill-tokens alone"

# One request in two prefill steps on one slot, of which the second has cached tokens: its arrays are
# read behind 20 as the device holds them at first and the 27 of the first step. The last byte of each
# is wrong once.
LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$H2D_BUILD_DIR/tests/tools/.libs/wrong_read.so"
ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
export LD_PRELOAD ASAN_OPTIONS
printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,300,9\n' >"$directory/trace"
step="--trace $directory/trace --steps 1 --slots 1 --max-num-seqs 2 --prefill --prefill-tokens 200
	--attention mla --sparse 50 --speculative 1 --ragged 4 --json"
for options in "" "--mrope"; do
	named=
	read=48
	while
		# shellcheck disable=SC2086 # several words
		WRONG_READ=$read runs 1 $step $options && is mismatched_steps 1 &&
			grep -q '^h2dpub-replay: prefill step 2: ' "$directory/error"
	do
		named="$named $(sed -n 's/^h2dpub-replay: prefill step 2: \([a-z0-9_]*\)\[.*/\1/p' \
			"$directory/error")"
		read=$((read + 1))
	done
	echo "found in:$named" >>"$directory/error"
	for array in slot_mapping context_lens cu_seqlens_k block_tables num_cached_tokens \
		seq_starts prefill_kv_indptr kv_indices kv_last_page_lens kv_indptr cu_seqlen_ks \
		cu_seqlen_ke sparse_kv_indptr batch_id_per_q_token qsa_token_to_req \
		qsa_logical_positions qsa_compressed_slots ple_has_initial_state input_ids \
		cu_seqlens_q temperatures ${options:+mrope_}positions; do
		case "$named " in
		*" $array "*) true ;;
		*) false ;;
		esac
		result $? "a wrong byte of $array is found $options"
	done
done
echo "1..$number"
