#!/bin/sh
# SPDX-License-Identifier: MIT
# The launcher's command line.
set -u
if [ "${RUN_H2D_GPU_TESTS:-0}" = 1 ]; then
	echo '1..0 # SKIP a test of the software GPU'
	exit 0
fi
softgpu=$H2D_BUILD_DIR/softgpu
unset LD_LIBRARY_PATH
number=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check NAME COMMAND...: the command succeeds.
check() {
	name=$1
	shift
	number=$((number + 1))
	if "$@" >"$work/log" 2>&1; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		sed 's/^/# /' "$work/log"
	fi
}

# run STATUS COMMAND...: the command ends with this status; its output is kept.
run() {
	wanted=$1
	shift
	"$@" >"$work/output" 2>"$work/errors"
	status=$?
	[ "$status" = "$wanted" ] || { echo "status $status"; cat "$work/errors"; return 1; }
}

says() {
	grep -q -- "$1" "$work/output" || { echo "no '$1' in:"; cat "$work/output"; return 1; }
}

complains() {
	[ "$(cat "$work/errors")" = "softgpu: $1" ] || { cat "$work/errors"; return 1; }
}

info() {
	run 0 "$softgpu" --info && says gfx90a && says 'SOFTGPU_GPUS  *1 ' && says VOP3P &&
		says barrier-AND && [ ! -s "$work/errors" ]
}

info_with_options() {
	run 0 env SOFTGPU_GPUS=3 SOFTGPU_VRAM=2G "$softgpu" --info && says 'SOFTGPU_GPUS  *3 ' &&
		says 'SOFTGPU_VRAM  *2048M ' && says 'nodes 1 to 3 are GPUs'
}

version() {
	run 0 "$softgpu" --version && says '^softgpu '
}

help() {
	run 0 "$softgpu" --help && says '^Usage: softgpu COMMAND' && [ ! -s "$work/errors" ]
}

# unwritable OPTION: what the option prints cannot be written.
unwritable() {
	"$softgpu" "$1" >/dev/full 2>"$work/errors"
	status=$?
	[ "$status" = 125 ] || { echo "$1 ends with status $status"; return 1; }
	complains 'cannot write to standard output: No space left on device'
}

full_output() {
	unwritable --info && unwritable --help && unwritable --version
}

no_command() {
	run 125 "$softgpu" && [ ! -s "$work/output" ] && grep -q '^Usage' "$work/errors"
}

unknown_option() {
	run 125 "$softgpu" --nonsense && complains "unknown option '--nonsense', see softgpu --help"
}

missing_command() {
	run 127 "$softgpu" no-such-command &&
		complains "cannot run 'no-such-command': No such file or directory"
}

not_executable() {
	: >"$work/file"
	run 126 "$softgpu" "$work/file" && complains "cannot run '$work/file': Permission denied"
}

bad_value() {
	run 125 env SOFTGPU_GPUS=many "$softgpu" true &&
		complains "SOFTGPU_GPUS is 'many' but must be a number from 1 to 8"
}

# Each must be refused by name, before anything runs.
bad_hostile_values() {
	for setting in SOFTGPU_L2S=17 SOFTGPU_L2S=-1 SOFTGPU_DELAY=soon SOFTGPU_DELAY=10000001 \
		SOFTGPU_REORDER=2 SOFTGPU_STALL=dma:1:1 SOFTGPU_STALL=sdma:0:1 SOFTGPU_STALL=sdma:1 \
		SOFTGPU_STALL=sdma:1:never SOFTGPU_STALL=sdma:1:3600001 SOFTGPU_SEED=x; do
		run 125 env "$setting" "$softgpu" true || return 1
		words="softgpu: ${setting%%=*} is '${setting#*=}' but must be "
		grep -q "^$words" "$work/errors" || { echo "no '$words'"; return 1; }
	done
}

hostile_options_in_force() {
	run 0 env SOFTGPU_L2S=6 SOFTGPU_DELAY=70 SOFTGPU_REORDER=1 SOFTGPU_STALL=aql:9:forever \
		SOFTGPU_SEED=33 "$softgpu" --info && says 'SOFTGPU_L2S  *6 ' &&
		says 'SOFTGPU_DELAY  *70 ' && says 'SOFTGPU_REORDER  *1 ' &&
		says 'SOFTGPU_STALL  *aql:9:forever ' && says 'SOFTGPU_SEED  *33 '
}

status_passes() {
	run 33 "$softgpu" sh -c 'exit 33'
}

arguments_pass() {
	run 0 "$softgpu" printf '<%s>' 'a b' '' '*' && [ "$(cat "$work/output")" = '<a b><><*>' ]
}

library_first() {
	# The inner shell prints its own variable.
	# shellcheck disable=SC2016
	run 0 env LD_LIBRARY_PATH=/elsewhere "$softgpu" sh -c 'echo "$LD_LIBRARY_PATH"' || return 1
	path=$(cat "$work/output")
	[ "${path#*:}" = /elsewhere ] && [ -r "${path%%:*}/libhsakmt.so.1" ]
}

no_library() {
	mkdir "$work/bin"
	cp "$softgpu" "$work/bin/softgpu"
	run 125 "$work/bin/softgpu" true && grep -q '^softgpu: libhsakmt.so.1 is missing: ' "$work/errors"
}

echo 1..16
check 'info names what is emulated' info
check 'info shows the options in force' info_with_options
check 'version' version
check 'help' help
check 'standard output that cannot be written' full_output
check 'no command' no_command
check 'an unknown option' unknown_option
check 'a command that is not there' missing_command
check 'a command that is no program' not_executable
check 'a value that cannot be' bad_value
check 'values of hostile modes that cannot be' bad_hostile_values
check 'hostile modes in force' hostile_options_in_force
check 'the status of the command passes through' status_passes
check 'arguments pass unchanged' arguments_pass
check 'the library comes first on the path' library_first
check 'without the library' no_library
