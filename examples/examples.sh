#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the examples and compares what they print. TAP.
set -u

examples=$H2D_BUILD_DIR/examples
failed=0

# check NUMBER PROGRAM: standard input is the expected output.
check() {
	expected=$(cat)
	if actual=$("$examples/$2" 2>&1) && [ "$actual" = "$expected" ]; then
		echo "ok $1 - $2"
		return
	fi
	failed=1
	echo "not ok $1 - $2"
	printf '%s\n' "$actual" | sed 's/^/# /'
}

echo 1..3
check 1 publish <<END
step 1, 3 requests
request 0: temperature 0.25, top_k 10
request 1: temperature 0.25, top_k 11
request 2: temperature 0.25, top_k 12
request 3: temperature 0.00, top_k 0
request 4: temperature 0.00, top_k 0
request 5: temperature 0.00, top_k 0
request 6: temperature 0.00, top_k 0
request 7: temperature 0.00, top_k 0
step 2, 6 requests
request 0: temperature 0.50, top_k 20
request 1: temperature 0.50, top_k 21
request 2: temperature 0.50, top_k 22
request 3: temperature 0.50, top_k 23
request 4: temperature 0.50, top_k 24
request 5: temperature 0.50, top_k 25
request 6: temperature 0.00, top_k 0
request 7: temperature 0.00, top_k 0
END
check 2 decode_step <<END
2 requests in a graph of 4
request 0: pages 7 3
request 1: pages 4
request 2: pages
request 3: pages
2 requests in a graph of 4
request 0: pages 7 3 9
request 1: pages 4
request 2: pages
request 3: pages
END
check 3 scheduler_workers <<END
step 1: 6080 bytes
worker 0 published: 1500 pages, the last one 1509, 2 pages, the last one 6
step 2: 76 bytes
worker 0 published: 1501 pages, the last one 9, 2 pages, the last one 6
worker 1 needs whole tables
step 2: 6084 bytes
worker 0 published: 1501 pages, the last one 9, 2 pages, the last one 6
worker 1 published: 1501 pages, the last one 9, 2 pages, the last one 6
step 3: 72 bytes
worker 0 unchanged: 1501 pages, the last one 9, 2 pages, the last one 6
worker 1 unchanged: 1501 pages, the last one 9, 2 pages, the last one 6
END
exit $failed
