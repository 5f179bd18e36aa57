# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What the test scripts beside it share, which source it: a folder of their own, results, and runs of
# a program whose output is kept.
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
number=0
program= # set by the script

# result STATUS NAME
result()
{
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number - $2"
	else
		echo "not ok $number - $2"
		sed 's/^/# /' "$directory/out" "$directory/error"
	fi
}

# runs STATUS OPTION...: output and messages go to the folder.
runs()
{
	wanted=$1
	shift
	"$program" "$@" >"$directory/out" 2>"$directory/error"
	[ $? = "$wanted" ]
}

# shows PATTERN: a line of the output matches.
shows()
{
	grep -q -- "$1" "$directory/out"
}

# shows_times COUNT PATTERN: that many lines of the output match.
shows_times()
{
	[ "$(grep -c -- "$2" "$directory/out")" = "$1" ]
}

# figure KEY: a number of the JSON summary.
figure()
{
	sed -n "s/^ *\"$1\": *\([0-9]*\),*\$/\1/p" "$directory/out"
}

# is KEY VALUE
is()
{
	[ "$(figure "$1")" = "$2" ] || {
		echo "$1 is $(figure "$1"), expected $2" >>"$directory/error"
		return 1
	}
}
