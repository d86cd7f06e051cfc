#!/usr/bin/env bash
# Runs every fuzz target of the module in the working directory, each for the time given ("1m" if none is), and stops
# at the first that finds something. Go keeps what it found below the package's testdata/fuzz.
set -euo pipefail

time=${1-1m}
found=0
while IFS=$'\t' read -r package dir; do
	files=("$dir"/*_test.go)
	[[ -e ${files[0]} ]] || continue
	mapfile -t targets < <(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "${files[@]}")
	for target in "${targets[@]}"; do
		found=$((found + 1))
		echo "==> fuzzing $package $target for $time"
		# Minimising what is merely interesting would take the whole time.
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 5x "$package"
	done
done < <(go list -f '{{.ImportPath}}	{{.Dir}}' ./...)
echo "==> $found fuzz targets found nothing"
