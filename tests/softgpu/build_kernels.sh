#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the test kernels by every compiler, code object version and optimisation level:
#   build_kernels.sh SOURCE_DIRECTORY OUTPUT_DIRECTORY FLAGS COMPILER...
# One code object a combination, named in OUTPUT_DIRECTORY/variants, a line each.
# shellcheck disable=SC2086
set -eu
source_directory=$1 output_directory=$2 flags=$3
shift 3
mkdir -p "$output_directory"
rm -f "$output_directory/variants" "$output_directory"/*.hsaco
combinations="v4-O0 v4-O1 v4-O2 v4-O3 v5-O0 v5-O2"

# Clang 14 knows no version 5: not an error, there is nothing to test.
knows_version() {
	echo 'kernel void probe(void) {}' |
		"$1" -x cl $flags -mcpu=gfx90a "-mcode-object-version=$2" -c -o /dev/null - \
			>/dev/null 2>&1
}

# -w: clang 22 warns of its own copies of kernels that use local memory.
build_variant() {
	variant=$1 compiler=$2 version=$3 level=$4
	"$compiler" -x cl $flags -w "$level" "-mcode-object-version=$version" -mcpu=gfx90a \
		-cl-fp32-correctly-rounded-divide-sqrt "$source_directory"/*.cl \
		-o "$output_directory/$variant.hsaco"
}

variants=
for compiler; do
	major=$("$compiler" --version | sed -n 's/.*version \([0-9]*\)\..*/\1/p;q')
	for combination in $combinations; do
		version=${combination%-*}
		version=${version#v}
		level=-${combination#*-}
		knows_version "$compiler" "$version" || continue
		variant=clang-$major-$combination
		build_variant "$variant" "$compiler" "$version" "$level" &
		last=$!
		# Two at a time.
		if [ "${before:-}" ]; then
			wait "$before"
		fi
		before=$last
		variants="$variants $variant"
	done
done
wait "$before"
printf '%s\n' $variants >"$output_directory/variants.new"
mv "$output_directory/variants.new" "$output_directory/variants"
