#!/bin/sh
# SPDX-License-Identifier: MIT
# plot_kernels.sh RESULTS OUT.svg: a chart of the publications in the output of bench-kernels-cuda.
set -eu
if [ $# != 2 ] || [ ! -r "$1" ]; then
	echo "usage: plot_kernels.sh RESULTS OUT.svg" >&2
	exit 2
fi
if ! command -v gnuplot >/dev/null; then
	echo "plot_kernels.sh: gnuplot is not installed (Debian package: gnuplot-nox)" >&2
	exit 3
fi
{
	echo "set terminal svg size 1000,520 background 'white' noenhanced"
	echo "set output '$2'"
	echo "\$data << END"
	awk -F ' *[|] *' '
		/^## Kernels alone|^### Kernels alone/ { exit }
		$2 ~ /^[0-9]+$/ && $4 !~ /^[(]/ {
			group = $2 " members, " $3 " B"
			if (!(group in row)) { row[group] = ++rows; name[rows] = group }
			if (!($4 in column)) { column[$4] = ++columns; title[columns] = $4 }
			value[row[group], column[$4]] = $6
		}
		END {
			printf "group"
			for (c = 1; c <= columns; c++) printf " \"%s\"", title[c]
			print ""
			for (r = 1; r <= rows; r++) {
				printf "\"%s\"", name[r]
				for (c = 1; c <= columns; c++) printf " %s", value[r, c]
				print ""
			}
		}' "$1"
	echo END
	printf "set title '%s' . \"\\\\n\" . '%s' font ',12'\n" \
		"One publication, until the consumer has run, above the consumer alone" \
		"$(grep -m 1 '^NVIDIA' "$1" | tr -d "'\\\\")"
	cat <<-'END'
		set ylabel 'microseconds'
		set logscale y
		set yrange [1:*]
		set grid ytics
		set xtics rotate by -20
		set style data histograms
		set style histogram clustered gap 1
		set style fill solid 0.8
		set key outside right
		plot for [i = 2:7] $data using i:xtic(1) title columnheader
	END
} | gnuplot
