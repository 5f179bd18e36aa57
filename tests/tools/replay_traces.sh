#!/bin/sh
# SPDX-License-Identifier: MIT
# h2dpub-replay: a broken trace is named with file, line and value, with exit status 2.
set -u
# shellcheck source=tests/tools/script.sh
. "$H2D_SOURCE_DIR/tests/tools/script.sh"
program=$H2D_BUILD_DIR/h2dpub-replay
trap 'chmod -R u+rwx "$directory"; rm -rf "$directory"' EXIT
unset ATOM_H2D_BACKEND
header=TIMESTAMP,ContextTokens,GeneratedTokens
trace=$directory/trace

# refused NAME STATUS MESSAGE: status 2, exactly this message, nothing on standard output.
refused()
{
	printf '%s\n' "h2dpub-replay: $3" "Try 'h2dpub-replay --help'." >"$directory/wanted"
	[ "$2" = 2 ] && [ ! -s "$directory/out" ] && cmp -s "$directory/wanted" "$directory/error"
	result $? "$1"
}

# refuses NAME MESSAGE FORMAT: a trace of these bytes is refused, as a file and on standard input.
refuses()
{
	# shellcheck disable=SC2059 # the third argument is a format
	printf "$3" >"$trace"
	"$program" --trace "$trace" >"$directory/out" 2>"$directory/error"
	refused "$1" $? "$trace:$2"
	"$program" --trace - <"$trace" >"$directory/out" 2>"$directory/error"
	refused "$1, on standard input" $? "standard input:$2"
}

tokens="not a whole number from"
good='2023-11-16 18:17:03.9799600,4808,10'
refuses "empty" "1: no request in the trace (the file is empty)" ''
refuses "only a header" "2: no request in the trace (only a header)" "$header\r\n"
refuses "no header" "1: neither the header $header nor a JSON object: '$good'" "$good\n"
refuses "truncated line" "3: 2 columns instead of 3: '2023-11-16 18:17:04,48'" \
	"$header\n$good\n2023-11-16 18:17:04,48"
refuses "wrong columns" "2: 4 columns instead of 3: '$good,1'" "$header\n$good,1\n"
refuses "blank line" "3: 0 columns instead of 3: ''" "$header\n$good\n\n$good\n"
refuses "negative" "2: ContextTokens is '-1', $tokens 1 to 2147483647" \
	"$header\r\n2023-11-16 18:17:04,-1,10\r\n"
refuses "huge" "2: GeneratedTokens is '18446744073709551617', $tokens 0 to 2147483647" \
	"$header\n2023-11-16 18:17:04,1,18446744073709551617"
refuses "not a number" "2: ContextTokens is 'many', $tokens 1 to 2147483647" \
	"$header\n2023-11-16 18:17:04,many,10\n"
refuses "NUL byte" "2: NUL byte in column 23" "$header\n2023-11-16 18:17:04,48\0008,10\n"
refuses "no time" "2: TIMESTAMP is '', not a time such as 2023-11-16 18:17:03.9799600" \
	"$header\n,48,10\n"
refuses "bad line after good ones, CR LF" "4: ContextTokens is 'x', $tokens 1 to 2147483647" \
	"$header\r\n$good\r\n$good\r\n2023-11-16 18:17:04,x,1"
json='{"timestamp":0,"input_length":1,"output_length":1}'
refuses "JSON: missing key" "1: no \"hash_ids\" in '$json'" \
	'{"timestamp": 0, "input_length": 1, "output_length": 1}\n'
refuses "JSON: wrong type" "1: input_length is '\"1\"', $tokens 1 to 2147483647" \
	'{"timestamp": 0, "input_length": "1", "output_length": 1, "hash_ids": []}'
refuses "JSON: negative" "1: output_length is '-3', $tokens 0 to 2147483647" \
	'{"timestamp": 0, "input_length": 1, "output_length": -3, "hash_ids": []}'

# The reason is behind the path, however long that is.
long=$directory/$(printf '%0240d/%0240d' 1 2)
mkdir -p "$long"
trace=$long/trace
refuses "bad line in a long path" "2: GeneratedTokens is 'y', $tokens 0 to 2147483647" \
	"$header\n2023-11-16 18:17:04,1,y"
"$program" --trace "$long/none" >"$directory/out" 2>"$directory/error"
refused "missing file in a long path" $? \
	"$long/none: cannot open the trace: No such file or directory"
trace=$directory/trace
"$program" --trace "$(printf '%09999d' 0)" >"$directory/out" 2>"$directory/error"
refused "path that is too long" $? \
	"$(printf '%04096d' 0): cannot open the trace: File name too long"

printf '{"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [1, 2' >"$trace"
"$program" --trace "$trace" >"$directory/out" 2>"$directory/error"
[ $? = 2 ] && grep -q "^h2dpub-replay: $trace:1: invalid JSON in column" "$directory/error"
result $? "JSON: truncated"

"$program" --trace "$directory" >"$directory/out" 2>"$directory/error"
refused "directory" $? "$directory: is a directory, not a trace"
"$program" --trace - <"$directory" >"$directory/out" 2>"$directory/error"
refused "directory on standard input" $? "standard input: is a directory, not a trace"
"$program" --trace "$directory/none" >"$directory/out" 2>"$directory/error"
refused "missing file" $? "$directory/none: cannot open the trace: No such file or directory"
"$program" --trace - <&- >"$directory/out" 2>"$directory/error"
refused "closed standard input" $? "standard input:1: cannot read: Bad file descriptor"
"$program" --trace /proc/self/mem >"$directory/out" 2>"$directory/error"
refused "file that fails to be read" $? "/proc/self/mem:1: cannot read: Input/output error"

# Nobody's permission bits stop root, who then reads the bad content instead.
printf 'nonsense\n' >"$trace"
chmod 0 "$trace"
if [ -r "$trace" ]; then
	message="$trace:1: neither the header $header nor a JSON object: 'nonsense'"
else
	message="$trace: cannot open the trace: Permission denied"
fi
"$program" --trace "$trace" >"$directory/out" 2>"$directory/error"
refused "file without permission" $? "$message"
echo "1..$number"
