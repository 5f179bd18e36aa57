#!/bin/sh
# SPDX-License-Identifier: MIT
# The tests of queues, copies and dispatches again, under other settings of the runtime and softgpu.
# A TAP line a setting and program.
set -eu
if [ "${RUN_H2D_GPU_TESTS:-0}" = 1 ]; then
	echo '1..0 # SKIP a test of the software GPU'
	exit 0
fi

number=0
repeat() {
	setting=$1
	shift
	for program; do
		number=$((number + 1))
		if output=$(env "$setting" "$H2D_BUILD_DIR/tests/softgpu/$program" 2>&1); then
			echo "ok $number - $setting $program"
		else
			echo "not ok $number - $setting $program"
			printf '%s\n' "$output" | sed 's/^/# /'
		fi
	done
}

echo 1..13
repeat HSA_ENABLE_SDMA=0 test_sdma test_dispatch test_ipc
repeat HSA_ENABLE_INTERRUPT=0 test_queue test_sdma test_dispatch
repeat SOFTGPU_USERFAULTFD=0 test_queue test_sdma
repeat SOFTGPU_WORKERS=1 test_dispatch
repeat SOFTGPU_SPIN=0 test_queue test_sdma test_dispatch
repeat SOFTGPU_EXCEPTIONS=1 test_dispatch
