#!/bin/sh
# SPDX-License-Identifier: MIT
# h2dpub-replay: every wrong option or value is named, with exit status 2 and no other output.
set -u
# shellcheck source=tests/tools/script.sh
. "$H2D_SOURCE_DIR/tests/tools/script.sh"
program=$H2D_BUILD_DIR/h2dpub-replay
unset ATOM_H2D_BACKEND

# refuses MESSAGE OPTION...: status 2, exactly this message, nothing on standard output.
refuses()
{
	message=$1
	shift
	"$program" "$@" >"$directory/out" 2>"$directory/error"
	status=$?
	printf '%s\n' "h2dpub-replay: $message" "Try 'h2dpub-replay --help'." >"$directory/wanted"
	[ $status = 2 ] && [ ! -s "$directory/out" ] && cmp -s "$directory/wanted" "$directory/error"
	result $? "$message"
}

# range OPTION LOWEST HIGHEST BELOW ABOVE [OTHER...]: none of the values from BELOW on is taken.
range()
{
	option=$1
	lowest=$2
	highest=$3
	shift 3
	for value in "$@" abc; do
		refuses "option --$option: '$value' is not a whole number from $lowest to $highest" \
			"--$option=$value"
	done
}

range requests 1 10000000 0 10000001 '' -5 1x 1.5 ' 7' +7 0x10 99999999999999999999999999
range steps 1 4294967295 0 4294967296
range max-num-seqs 1 1024 0 1025
range block-size 1 1024 0 1025
range page-size 1 1024 0 1025
range num-pages 1 16777216 0 16777217
range max-model-len 2 1048576 1 1048577
range step-time 1 3600000 0 3600001
range dcp-size 1 64 0 65
range dcp-rank 0 63 -1 64
range dcp-interleave 1 1024 0 1025
range sparse 0 65536 -1 65537
range ragged 0 1024 -1 1025
range prefill-tokens 1 16384 0 16385
range slots 1 64 0 65
range seed 0 18446744073709551615 -1 18446744073709551616

for option in trace requests steps max-num-seqs block-size page-size num-pages max-model-len \
	step-time backend dcp-size dcp-rank dcp-interleave sparse ragged prefill-tokens slots seed; do
	refuses "option --$option: no value" "--$option"
done
refuses "option '--nonsense' is unknown, ambiguous or takes no value" --nonsense
refuses "option '--s=1' is unknown, ambiguous or takes no value" --s=1
refuses "option '--json=yes' is unknown, ambiguous or takes no value" --json=yes
refuses "option '-x' is unknown, ambiguous or takes no value" -x
refuses "option '-x' is unknown, ambiguous or takes no value" -xyz
refuses "option '-7' is unknown, ambiguous or takes no value" --seed 3 -7.5
refuses "option '-\\xc3' is unknown, ambiguous or takes no value" "$(printf -- '-\303\251')"
refuses "argument 'trace.csv' is not an option" trace.csv
refuses "argument '--json' is not an option" -- --json
refuses "option --page-size: 3 does not divide the block size 16" --page-size 3
refuses "option --page-size: 32 does not divide the block size 16" --page-size 32
refuses "option --dcp-size: 2 without --attention mla" --dcp-size 2
refuses "option --dcp-size: 2 without --attention mla" --attention mha --dcp-size 2 --sparse 9
refuses "option --sparse: 9 without --attention mla" --sparse 9
refuses "option --dcp-rank: 1 is not below --dcp-size 1" --attention mla --dcp-rank 1
refuses "option --dcp-rank: 4 is not below --dcp-size 4" --attention mla --dcp-size 4 --dcp-rank 4
refuses "option --dcp-interleave: there is no --dcp-size above 1" --attention mla \
	--dcp-interleave 1
refuses "option --dcp-interleave: 3 does not divide the block size 16" --attention mla \
	--dcp-size 2 --dcp-interleave 3
few="is too few, one request of"
refuses "option --num-pages: 99 $few 1600 tokens (--max-model-len) needs 100" \
	--max-model-len 1600 --num-pages 99
refuses "option --num-pages: 3 $few 49 tokens (--max-model-len) needs 4" \
	--max-model-len 49 --num-pages 3
trace=$directory/trace
printf '{"timestamp": 0, "input_length": 60, "output_length": 5, "hash_ids": []}' >"$trace"
refuses "option --num-pages: 4 $few 65 tokens (--max-model-len) needs 5" \
	--trace "$trace" --num-pages 4
printf '{"timestamp": 0, "input_length": 60000, "output_length": 5, "hash_ids": []}' >"$trace"
refuses "option --num-pages: 4 $few 32768 tokens (--max-model-len) needs 128" \
	--trace "$trace" --num-pages 4 --block-size 256
refuses "option --num-pages: 4 $few 32768 tokens (--max-model-len) needs 8" \
	--trace "$trace" --num-pages 4 --block-size 256 --attention mla --dcp-size 16

# names_backends STATUS WHERE VALUE: the message has the place, the value and the three names.
names_backends()
{
	[ "$1" = 2 ] && [ ! -s "$directory/out" ] &&
		grep -q "^h2dpub-replay: $2: .*$3" "$directory/error" &&
		grep -q packed "$directory/error" && grep -q direct "$directory/error" &&
		grep -q pull "$directory/error"
	result $? "$2 $3"
}
"$program" --backend fastest >"$directory/out" 2>"$directory/error"
names_backends $? "option --backend" fastest
ATOM_H2D_BACKEND=Packed "$program" >"$directory/out" 2>"$directory/error"
names_backends $? "environment variable ATOM_H2D_BACKEND" Packed

"$program" --help >"$directory/out" 2>"$directory/error" && [ ! -s "$directory/error" ]
result $? "--help succeeds"
for option in trace requests steps max-num-seqs block-size page-size num-pages max-model-len \
	step-time backend dcp-size dcp-rank dcp-interleave sparse ragged prefill prefill-tokens slots \
	seed no-verify json help version; do
	grep -q "^  --$option " "$directory/out"
	result $? "--help describes --$option"
done
"$program" --version >"$directory/out" 2>"$directory/error" &&
	grep -Eq '^h2dpub-replay [0-9]+\.[0-9]+\.[0-9]+$' "$directory/out"
result $? "--version prints a version"
if [ -c /dev/full ]; then
	"$program" --help >/dev/full 2>"$directory/error"
	[ $? = 3 ]
	result $? "--help to a full device fails"
fi
echo "1..$number"
