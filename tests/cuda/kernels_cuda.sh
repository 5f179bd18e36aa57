#!/bin/sh
# SPDX-License-Identifier: MIT
# The kernels on an NVIDIA GPU, where there is one: every byte that every way of publishing lands.
set -u
directory=$H2D_BUILD_DIR/tests/cuda

if [ ! -e /dev/nvidiactl ]; then
	echo "1..0 # SKIP no NVIDIA GPU here"
	exit 0
fi
"$directory/bench-kernels-cuda" "$directory" 3 >"$directory/kernels_cuda.out" 2>&1
status=$?
if [ $status = 0 ] && grep -q ': 0 wrong bytes$' "$directory/kernels_cuda.out"; then
	echo "ok 1 - the kernels and their peers land the same bytes"
else
	echo "not ok 1 - the kernels and their peers land the same bytes"
	sed 's/^/# /' "$directory/kernels_cuda.out"
fi
echo "1..1"
