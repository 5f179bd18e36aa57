#!/bin/sh
# SPDX-License-Identifier: MIT
# h2dpub-bench table: its results are complete, whatever the figures are; wrong options are named.
set -u
# shellcheck source=tests/tools/script.sh
. "$H2D_SOURCE_DIR/tests/tools/script.sh"
program=$H2D_BUILD_DIR/h2dpub-bench

runs 0 table --rows 3 --columns 64 --rounds 2 && shows_times 1 '^ *3 *64  *[0-9]'
result $? "one size"
runs 0 table --rows 3 --columns 64 --rounds 2 --json && shows_times 7 '"median_ns": [0-9]' &&
	shows_times 1 '"copy-row": {' && shows_times 1 '"rows": *3,'
result $? "one size as JSON"
runs 0 table --codec --rows 5 --columns 100 --rounds 2 --json && shows_times 5 '"median_ns": [0-9]' &&
	shows_times 1 '"whole_bytes": *2120,' && shows_times 1 '"delta_bytes": *140,'
result $? "the codec's messages have the documented sizes"
for case in copy compare hit append change copy-row replace; do
	runs 0 table --rows 3 --columns 64 --case $case --count 5 && shows_times 0 '[0-9]  *[0-9]'
	result $? "$case for counting"
done
for case in encode-whole encode-delta decode-whole decode-delta copy-whole; do
	runs 0 table --codec --rows 3 --columns 64 --case $case --count 5
	result $? "$case for counting"
done
runs 0 --help && shows_times 1 '^  table '
result $? "--help"
runs 0 table --help && shows_times 1 '^  --rounds N'
result $? "table --help"
runs 2 tables && grep -q "^h2dpub-bench: benchmark 'tables' is unknown" "$directory/error"
result $? "an unknown benchmark"
runs 2 table --rows 0 --columns 1 && grep -q "option --rows: '0' is not" "$directory/error"
result $? "a wrong number"
runs 2 table --rows 5 && grep -q 'one is missing' "$directory/error"
result $? "a size by half"
runs 2 table --fast && grep -q "option '--fast' is unknown" "$directory/error"
result $? "an unknown option"
runs 3 table --rows 2 --columns 64 --case nothing --count 1 &&
	grep -q "there is no case 'nothing'" "$directory/error"
result $? "an unknown case"
echo "1..$number"
