#!/bin/sh
# SPDX-License-Identifier: MIT
# h2dpub-replay on the GPU: each backend publishes and verifies every step of small workloads, and
# what the GPU does wrong is noticed.
set -u
# shellcheck source=tests/tools/script.sh
. "$H2D_SOURCE_DIR/tests/tools/script.sh"
program=$H2D_BUILD_DIR/h2dpub-replay
unset ATOM_H2D_BACKEND

# Few pages, so that requests are preempted; 17 sequences, so that graphs of 32 do not exist.
workload="--requests 40 --max-num-seqs 17 --max-model-len 3000 --num-pages 230 --step-time 1000
	--steps 100 --json"

# What one step of a backend takes: DMA copies, dispatches.
for backend in packed:1:1 direct:5:0 pull:0:1; do
	name=${backend%%:*}
	copies=${backend#*:}
	copies=${copies%:*}
	dispatches=${backend##*:}
	# shellcheck disable=SC2086 # several words
	runs 0 $workload --backend "$name"
	result $? "$name: all verified"
	[ "$(figure preemptions)" -gt 0 ]
	result $? "$name: requests are preempted"
	# an unchanged block table is not sent again: one copy less where each member has its own
	omitted=0
	[ "$name" != direct ] || omitted=$(figure uploads_omitted)
	is decode_steps 100 && is verified_steps 100 && is mismatches 0 && is graph_launches 100 &&
		is publications 100 && is dma_copies $((100 * copies - omitted)) &&
		[ "$(figure uploads_omitted)" -gt 50 ] && is hits "$(figure uploads_omitted)" &&
		is publication_dispatches $((100 * dispatches)) && is consumer_dispatches 100
	result $? "$name: $copies copies and $dispatches dispatches a step"
	figure bytes >"$directory/bytes.$name"
done
cmp -s "$directory/bytes.packed" "$directory/bytes.direct" &&
	cmp -s "$directory/bytes.packed" "$directory/bytes.pull"
result $? "all backends publish the same bytes"

# shellcheck disable=SC2086 # several words
ATOM_H2D_BACKEND=pull runs 0 $workload --steps 5 && grep -q '"backend": *"pull"' "$directory/out"
result $? "the environment chooses the backend"
# shellcheck disable=SC2086 # several words
ATOM_H2D_BACKEND=pull runs 0 $workload --steps 5 --backend direct &&
	grep -q '"backend": *"direct"' "$directory/out"
result $? "--backend wins over the environment"

for slots in 1 3; do
	# shellcheck disable=SC2086 # several words
	runs 0 $workload --steps 20 --slots $slots && is slots $slots && is verified_steps 20 &&
		is mismatches 0
	result $? "$slots slots"
done
# shellcheck disable=SC2086 # several words
runs 0 $workload --steps 20 --block-size 12 --page-size 3 --num-pages 600 && is mismatches 0
result $? "several physical pages a block"
# shellcheck disable=SC2086 # several words
runs 0 $workload --steps 50 --no-verify && is verified_steps 0 && is publications 50 &&
	grep -q '"verified": *false' "$directory/out"
result $? "--no-verify"

header=TIMESTAMP,ContextTokens,GeneratedTokens
small="--max-model-len 2000 --max-num-seqs 4 --json"
printf '%s\r\n2023-11-16 18:17:03.5,100,3\r\n2023-11-16 18:17:03.6,1990,20' "$header" \
	>"$directory/trace"
# shellcheck disable=SC2086 # several words
runs 0 --trace - $small <"$directory/trace" && is requests 2 && is requests_finished 2 &&
	is requests_clipped 1 && is prompt_tokens 2090 && is generated_tokens 13 &&
	is decode_steps 11 && is mismatches 0
result $? "Azure trace on standard input, CR LF, no final newline"
for request in 1 2 3; do
	echo '{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [1, '$request']}'
done >"$directory/trace"
# shellcheck disable=SC2086 # several words
runs 0 --trace "$directory/trace" $small && is requests_finished 3 && is shared_pages 64 &&
	is decode_steps 4 && is mismatches 0
result $? "Mooncake trace, shared prefixes"
for id in 9223372036854775808 9223372036854775809 18446744073709551615; do
	echo '{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": ['$id']}'
done >"$directory/trace"
# shellcheck disable=SC2086 # several words
runs 0 --trace "$directory/trace" $small && is requests_finished 3 && is shared_pages 0
result $? "Mooncake trace, hash ids of 64 bits"

runs 0 --requests 5 --steps 10 &&
	grep -q '^Requests from the built-in generator (no trace given), seed 1$' "$directory/out" &&
	grep -q '^  decode steps  *10 ' "$directory/out" &&
	tail -n 1 "$directory/out" | grep -q '^  mismatches  *0$'
result $? "table"
odd=$directory/$(printf 'l\303\244nge\377\303')
cp "$directory/trace" "$odd"
runs 0 --trace "$odd" --steps 1 --json && grep -q "$(printf '/l\303\244nge')"'\\\\xff\\\\xc3",$' "$directory/out"
result $? "JSON of a trace whose name is not UTF-8"
long=$directory/$(printf '%0240d/%0240d' 1 2)
mkdir -p "$long"
printf '%s\n2023-11-16 18:17:03,100,3\n' "$header" >"$long/trace"
runs 0 --trace "$long/trace" && grep -qFx "Requests from trace $long/trace" "$directory/out"
result $? "table of a trace with a long path"
if [ -c /dev/full ]; then
	"$program" --requests 5 --steps 2 >/dev/full 2>"$directory/error"
	[ $? = 3 ] && grep -q '^h2dpub-replay: cannot write the summary: ' "$directory/error"
	result $? "a summary that cannot be written"
fi

# Four speculative tokens: token inputs are published first, in one DMA and one scatter, in one
# dispatch, or with a copy for each member that has something in it.
speculative="--requests 40 --max-num-seqs 17 --max-model-len 3000 --num-pages 230 --step-time 1000
	--steps 40 --speculative 4 --json"
for backend in packed:40:40 direct:0:0 pull:0:40; do
	name=${backend%%:*}
	copies=${backend#*:}
	copies=${copies%:*}
	dispatches=${backend##*:}
	# shellcheck disable=SC2086 # several words
	runs 0 $speculative --slots 3 --backend "$name" && is verified_steps 40 &&
		is mismatches 0 && is token_inputs_steps 40 && is mha_decode_steps 40 &&
		is token_inputs_dispatches "$dispatches" && is consumer_dispatches 80 &&
		[ "$(figure accepted_drafts)" -gt 0 ]
	result $? "$name: speculative tokens, all verified"
	if [ "$name" = direct ]; then
		# temperatures, prefix, ids, the three of verification; in most sources and filters
		[ "$(figure token_inputs_dma_copies)" -gt 240 ] &&
			[ "$(figure token_inputs_dma_copies)" -le 320 ]
	else
		is token_inputs_dma_copies "$copies" && is mha_decode_dma_copies "$copies"
	fi
	result $? "$name: what token inputs take"
	figure token_inputs_bytes >"$directory/bytes.$name"
done
cmp -s "$directory/bytes.packed" "$directory/bytes.direct" &&
	cmp -s "$directory/bytes.packed" "$directory/bytes.pull"
result $? "token inputs have the same bytes in all backends"

# The variables make the software GPU late, disorderly and incoherent; others ignore them.
for name in packed direct pull; do
	# shellcheck disable=SC2086 # several words
	SOFTGPU_SEED=7 SOFTGPU_L2S=4 SOFTGPU_DELAY=200 SOFTGPU_REORDER=1 \
		runs 0 $workload --steps 40 --slots 4 --backend $name && is verified_steps 40 &&
		is mismatches 0
	result $? "$name on a hostile GPU"
	# shellcheck disable=SC2086 # several words
	SOFTGPU_SEED=7 SOFTGPU_L2S=4 SOFTGPU_DELAY=200 SOFTGPU_REORDER=1 \
		runs 0 $speculative --slots 4 --backend $name && is verified_steps 40 &&
		is mismatches 0
	result $? "$name on a hostile GPU, speculative tokens"
done

if [ "${RUN_H2D_GPU_TESTS:-0}" != 1 ]; then
	# shellcheck disable=SC2086 # several words
	SOFTGPU_VRAM=2M runs 3 $workload && [ ! -s "$directory/out" ] &&
		grep -q '^h2dpub-replay: cannot .*device memory.*H2D_STATUS_OUT_OF_MEMORY' "$directory/error"
	result $? "a GPU with too little memory is a failure of the machine, exit status 3"
fi

# Each slot is read once at the start (five arrays, no KV index exists yet), so with one slot the
# eighth read is the block table of the first step.
LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$H2D_BUILD_DIR/tests/tools/.libs/wrong_read.so"
ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
export LD_PRELOAD ASAN_OPTIONS
# shellcheck disable=SC2086 # several words
WRONG_READ=8 runs 1 $workload --steps 3 --slots 1 && is mismatches 1 && is mismatched_steps 1 &&
	grep -q '^h2dpub-replay: step 1: block_tables\[3195\] is 16777216, expected 0 (1 elements' \
		"$directory/error"
result $? "a wrong byte on the GPU is reported, with exit status 1"
echo "1..$number"
