#!/bin/sh
# SPDX-License-Identifier: MIT
# h2dpub-bench publish and growth: complete results of verified bytes, whatever the figures are;
# wrong options are named, wrong bytes are found.
set -u
# shellcheck source=tests/tools/script.sh
. "$H2D_SOURCE_DIR/tests/tools/script.sh"
program=$H2D_BUILD_DIR/h2dpub-bench
grep -q '^#define HAVE_HIP 1' "$H2D_BUILD_DIR/config.h"
without_hip=$?

refuses()
{
	message=$1
	shift
	runs 2 "$@" && [ ! -s "$directory/out" ] && grep -qF -- "h2dpub-bench: $message" "$directory/error"
	result $? "$message"
}

runs 0 publish --members 5 --bytes 3000 --rounds 2 --no-count
status=$?
for way in packed direct pull begin+finish 'HSA copies'; do
	shows "^| $way " || status=1
done
# HIP is there if and only if the build has it.
for way in 'HIP copies' 'HIP packed'; do
	shows "^| $way "
	[ $? = "$without_hip" ] || status=1
done
result $status "every way of publishing one group"

# Whether a process may be stepped through is up to the machine.
runs 0 publish --members 3 --bytes 600 --rounds 1 --json
failed=$?
if [ $failed = 0 ] && shows '"packets"'; then
	status=0
	for way in packed direct pull 'HSA copies'; do
		shows "\"way\":\"$way\"" || shows "\"way\": *\"$way\"" || status=1
	done
	# What the packets and copies of each way are does not depend on the machine.
	values=$(tr -d ' \n' <"$directory/out" | grep -o '"packets":[0-9]*,"dmas":[0-9]*' | sed 's/[^0-9,]//g' |
		head -n 5 | tr '\n' ' ')
	[ "$values" = "3,1 3,3 2,0 1,0 2,3 " ] || status=1
	result $status "packets and copies of each way, as JSON ($values)"
elif [ $failed = 0 ] && grep -q 'cannot be counted' "$directory/error"; then
	number=$((number + 1))
	echo "ok $number - packets and copies of each way # SKIP no process can be stepped through here"
else
	result 1 "packets and copies of each way, as JSON"
fi

runs 0 publish --members 2 --bytes 70000 --table-bytes 69000 --slots 3 --rounds 2 --no-count
result $? "a member that is not packed, and slots in turn"

runs 0 publish --members 4 --bytes 900 --pack-limit 100 --rounds 2 --no-count
result $? "members beyond the limit of packing"

LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$H2D_BUILD_DIR/tests/tools/.libs/fake_counter.so" \
	ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" \
	runs 0 publish --members 3 --bytes 600 --rounds 3 &&
	if grep -q 'cannot be counted' "$directory/error"; then
		true # the counts that go with it need single steps
	else
		shows "in user mode: by the processor's counter; what they are: by single steps"
	fi
result $? "instructions by the processor's counter"

if command -v gnuplot >/dev/null; then
	runs 0 growth --series slots --steps 2 --rounds 1 --plot "$directory/growth.svg" &&
		shows '^slots, pull: ' && grep -q '<svg' "$directory/growth.svg"
	result $? "growth, with a chart"
else
	runs 3 growth --series slots --steps 1 --rounds 1 --plot "$directory/growth.svg" &&
		grep -q 'gnuplot is not installed' "$directory/error"
	result $? "growth; no chart without gnuplot"
fi

runs 0 --quick
status=$?
for benchmark in publish growth kernels table; do
	shows "^==== h2dpub-bench $benchmark\$" || status=1
done
result $status "all benchmarks, a few rounds of each"
if command -v gnuplot >/dev/null; then
	runs 0 --quick --plot "$directory/all.svg" && grep -q '<svg' "$directory/all.svg"
	result $? "all benchmarks, with a chart"
fi

LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$H2D_BUILD_DIR/tests/tools/.libs/short_copy.so"
ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
export LD_PRELOAD ASAN_OPTIONS
SHORT_COPY=404
export SHORT_COPY
# Of 404 bytes are only the first member's direct copy and its plain one.
runs 3 publish --members 2 --bytes 804 --table-bytes 404 --rounds 1 --no-count &&
	grep -q "^h2dpub-bench: direct: byte 659 of 1280 is 0xa5, not 0x" "$directory/error"
result $? "a copy that loses a byte is found"
unset LD_PRELOAD SHORT_COPY

refuses "option --members: '0' is not a whole number from 1 to 128" publish --members 0 --bytes 8
refuses "option --members: '129' is not a whole number from 1 to 128" publish --members=129
refuses "option --bytes: '3x' is not a whole number from 4 to 67108864" publish --bytes 3x
refuses "option --pack-limit: '0' is not a whole number from 1 to 67108864" publish --pack-limit 0
refuses "option --slots: '65' is not a whole number from 1 to 64" publish --slots 65
refuses "option --rounds: '0' is not a whole number from 1 to 100000" publish --rounds 0
refuses "options --members and --bytes: one is missing" publish --members 4
refuses "options --bytes and --table-bytes: no multiple of 4" publish --members 2 --bytes 9
refuses "option --table-bytes: it needs --members and --bytes" publish --table-bytes 8
refuses "option --bytes: 8 bytes are not what 3 members can have" publish --members 3 --bytes 8
refuses "option --plot: it draws what --no-count leaves out" publish --no-count --plot x.svg
refuses "option '--nonsense' is unknown or has no value" publish --nonsense
refuses "argument 'x' is not an option" publish x
refuses "option --series: there is no series 'x'" growth --series x
refuses "option --steps: '17' is not a whole number from 1 to 16" growth --steps 17
refuses "option '--bytes' is unknown or has no value" growth --bytes
refuses "option '--plot' is unknown or has no value" --plot
refuses "argument 'x' is not an option" --quick x
refuses "option '-x' is unknown or has no value" --quick -xyz
refuses "option '-q' is unknown or has no value" -qp
refuses "option '--quick=1' is unknown or has no value" --quick=1
refuses "option '-s' is unknown or has no value" growth -sn
refuses "option '-m' is unknown or has no value" publish --slots 2 -mb
refuses "option '-x' is unknown or has no value" table --codec -xy
refuses "benchmark 'x' is unknown" x
runs 0 publish --help && shows '^  --members N'
result $? "publish --help"
runs 0 growth --help && shows '^  --series NAME'
result $? "growth --help"
echo "1..$number"
