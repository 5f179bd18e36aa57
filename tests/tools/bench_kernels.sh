#!/bin/sh
# SPDX-License-Identifier: MIT
# h2dpub-bench kernels: complete tables of verified bytes, whatever the figures are; wrong options
# are named, wrong bytes are found.
set -u
# shellcheck source=tests/tools/script.sh
. "$H2D_SOURCE_DIR/tests/tools/script.sh"
program=$H2D_BUILD_DIR/h2dpub-bench

refuses()
{
	message=$1
	shift
	runs 2 kernels "$@" && [ ! -s "$directory/out" ] &&
		grep -qF -- "h2dpub-bench: $message" "$directory/error"
	result $? "$message"
}

runs 0 kernels --rounds 1 && [ ! -s "$directory/error" ]
status=$?
shows_times 1 '^GPU: ' || status=1
shows_times 1 '^34 groups, 8 strategies: 0 wrong bytes$' || status=1
for way in 'one plain DMA' 'N plain DMAs' 'h2dpub packed' 'h2dpub pull' '(empty kernel)' \
	'(device copy)' '(h2d_scatter)'; do
	shows_times 8 "^| [0-9]* | [0-9]* | $way | [0-9.]* | [-0-9.]* | [-0-9.]* - [-0-9.]* |" || status=1
done
# The device alone copies larger groups too.
[ "$(grep -c '| h2d_scatter |' "$directory/out")" -ge 9 ] || status=1
rows=$(grep -c '| h2d_scatter |' "$directory/out")
for way in 'empty kernel' 'device copy' 'one plain DMA' 'h2d_pull' 'DMA + h2d_scatter' \
	'N plain DMAs'; do
	shows_times "$rows" "^| [0-9]* | [0-9]* | $way | [0-9.]* | [0-9.]* - [0-9.]* | [0-9.]* | [0-9.]* |$" ||
		status=1
done
if [ "${RUN_H2D_GPU_TESTS:-0}" != 1 ]; then
	shows_times 1 '^A software GPU: ' || status=1
fi
result $status "every way, on all groups"

runs 0 kernels --members 5 --bytes 3000 --rounds 3 && shows_times 7 '^| 5 | 3000 | .* | .* | .* | .* | .* | .* |$' &&
	shows_times 14 '^| 5 | 3000 |'
result $? "one group"

runs 0 kernels --members 3 --bytes 70000 --table-bytes 69000 --rounds 2 --json &&
	shows_times 2 '"table_bytes": *69000' && shows_times 8 '"submit":' && shows_times 8 '"consumer":' &&
	shows_times 7 '"device":' && shows_times 23 '"p75_ns": *[0-9]' && shows_times 2 '"way": *"h2dpub pull"' &&
	shows_times 1 '"software_gpu": *[tf]'
result $? "one group as JSON"

# What only luck makes visible is found by caches that nothing but fences makes coherent.
SOFTGPU_L2S=4
SOFTGPU_SEED=7
export SOFTGPU_L2S SOFTGPU_SEED
runs 0 kernels --members 8 --bytes 200 --rounds 1
result $? "every way with caches between the host and the kernels"
unset SOFTGPU_L2S SOFTGPU_SEED

LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$H2D_BUILD_DIR/tests/tools/.libs/short_copy.so"
ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
export LD_PRELOAD ASAN_OPTIONS
# Copies of these sizes are, of the groups that are checked first: a single member in one piece, the
# second of four members, a single member behind its header of 16 bytes.
while read -r SHORT_COPY wrong; do
	export SHORT_COPY
	runs 3 kernels --rounds 1 && grep -q "^h2dpub-bench: $wrong is 0x[0-9a-f]*, not 0x" "$directory/error" &&
		shows_times 0 'groups'
	result $? "a copy of $SHORT_COPY bytes that loses one is found: $wrong"
done <<EOT
4080 one plain DMA: byte 4079 of 4144
9826 N plain DMAs: byte 75876 of 142080
4096 h2dpub packed: byte 4339 of 4608
EOT
unset LD_PRELOAD SHORT_COPY

refuses "option --members: '0' is not a whole number from 1 to 128" --members 0 --bytes 8
refuses "option --members: '129' is not a whole number from 1 to 128" --members=129
refuses "option --bytes: '3x' is not a whole number from 4 to 67108864" --bytes 3x
refuses "option --rounds: '0' is not a whole number from 1 to 100000" --rounds 0
refuses "options --members and --bytes: one is missing" --members 4
refuses "options --bytes and --table-bytes: no multiple of 4" --members 2 --bytes 9
refuses "option --table-bytes: it needs --members and --bytes" --table-bytes 8
refuses "option --bytes: 8 bytes are not what 3 members can have" --members 3 --bytes 8
refuses "option '--slots' is unknown or has no value" --slots 2
refuses "argument 'x' is not an option" x
runs 0 kernels --help && shows_times 1 '^  --members N' && shows_times 1 'bench-kernels-cuda'
result $? "--help"
echo "1..$number"
