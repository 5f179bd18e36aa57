#!/bin/sh
# SPDX-License-Identifier: MIT
# The tools with closed standard descriptors: no file of the GPU's runtime takes their place, and
# what cannot be written is an error.
set -u
# shellcheck source=tests/tools/script.sh
. "$H2D_SOURCE_DIR/tests/tools/script.sh"
replay=$H2D_BUILD_DIR/h2dpub-replay
bench=$H2D_BUILD_DIR/h2dpub-bench
unset ATOM_H2D_BACKEND
# With this the software GPU's first file is its video memory, which takes whatever is written.
SOFTGPU_USERFAULTFD=0
export SOFTGPU_USERFAULTFD
few="--requests 5 --steps 2"
quick="--members 3 --bytes 600 --rounds 1 --no-count"
: >"$directory/out"

# fails MESSAGE COMMAND...: with standard output closed, status 3 and the message.
fails()
{
	message=$1
	shift
	"$@" >&- 2>"$directory/error"
	[ $? = 3 ] && grep -q "^$message: Bad file descriptor\$" "$directory/error"
	result $? "${1##*/} ${2-}: standard output is closed"
}

# shellcheck disable=SC2086 # several words
{
	fails 'h2dpub-replay: cannot write the summary' "$replay" $few
	fails 'h2dpub-replay: cannot write the summary' "$replay" --json $few
	fails 'h2dpub-replay: cannot write the summary' "$replay" --workers 2 $few
	fails 'h2dpub-replay: cannot write the help' "$replay" --help
	fails 'h2dpub-replay: cannot write the version' "$replay" --version
	fails 'h2dpub-bench: cannot write the results' "$bench" publish $quick
	fails 'h2dpub-bench: cannot write the results' "$bench" table --rows 3 --columns 64 --rounds 2
	fails 'h2dpub-bench: cannot write the results' "$bench" --version
}

# shellcheck disable=SC2086 # several words
"$replay" $few <&- >&- 2>"$directory/error"
[ $? = 3 ] && grep -q '^h2dpub-replay: cannot write the summary: ' "$directory/error"
result $? "h2dpub-replay: standard input and output are closed"
# shellcheck disable=SC2086 # several words
"$replay" $few <&- >&- 2>&-
[ $? = 3 ]
result $? "h2dpub-replay: all are closed"
# shellcheck disable=SC2086 # several words
"$bench" publish $quick <&- >&- 2>&-
[ $? = 3 ]
result $? "h2dpub-bench: all are closed"

: >"$directory/error"
# shellcheck disable=SC2086 # several words
"$replay" --json $few <&- 2>&- >"$directory/out" && is decode_steps 2 && is verified_steps 2 &&
	is mismatches 0
result $? "h2dpub-replay: only standard output is open"
# shellcheck disable=SC2086 # several words
"$bench" publish $quick <&- 2>&- >"$directory/out" && shows '^| pull '
result $? "h2dpub-bench: only standard output is open"
"$replay" --nonsense 2>&- >"$directory/out"
[ $? = 2 ] && [ ! -s "$directory/out" ]
result $? "h2dpub-replay: a message that nobody can read goes nowhere else"
"$bench" --nonsense 2>&- >"$directory/out"
[ $? = 2 ] && [ ! -s "$directory/out" ]
result $? "h2dpub-bench: a message that nobody can read goes nowhere else"
echo "1..$number"
