# Functions that .ci/run and .ci/full share. Both source this file.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Every command of a function below stands alone or after &&, because set -e has no effect in
# a function that is part of a condition.

readonly root=$PWD
export GOFLAGS=-trimpath # clones in different folders share what the go command has built
readonly log=$(mktemp) # output of all go test commands, for package_seconds
trap 'rm -f "$log"' EXIT

# tested FLAGS...: runs go test and keeps its output for package_seconds.
tested() { go test "$@" 2>&1 | tee -a "$log"; }

# package_seconds prints the seconds of each package that took 5 s or more in all go test commands.
package_seconds() {
	printf '\n== seconds by package, 5 and more\n'
	awk '$1 == "ok" && $3 ~ /^[0-9.]+s$/ { s[$2] += $3 } END { for (p in s) if (s[p] >= 5) printf "%7.0f  %s\n", s[p], p }' "$log" | sort -rn
}

# in_folder DIR COMMAND...
in_folder() { (cd "$1" && "${@:2}"); }

# install_tools [COMMAND PACKAGE]...: installs the Debian package of each command that is missing.
# A package may be several words.
install_tools() {
	local missing=()
	while (($#)); do
		command -v "$1" >/dev/null || missing+=("$2")
		shift 2
	done
	((${#missing[@]})) || return 0
	printf 'missing: %s\n' "${missing[*]}"
	[[ $(id -u) == 0 ]] && command -v apt-get >/dev/null || { printf 'not installed: this needs root and apt-get\n' && return 0; }
	# shellcheck disable=SC2068 # an element may name two packages
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends ${missing[@]} >/dev/null
}

staticcheck() { go tool -modfile="$root/internal/tools/go.mod" staticcheck "$@"; }

# Packages whose tests run with the race detector in the gate: only these start goroutines.
readonly raced_packages=(./client ./cluster/... ./elector/... ./transport/... ./tlsauth ./web ./internal/watchdog ./cli)

# raced FLAGS...: runs go test with the race detector, which needs a C compiler.
raced() {
	[[ $(go env CGO_ENABLED) == 1 ]] || { printf 'the race detector needs a C compiler: install one, or set CC\n' && return 1; }
	tested -race "$@"
}

# benchmarks: builds package bench once, and runs the benchmarks of each line of
# standard input once. A line is a pattern and flags. A pattern that matches no benchmark is an error.
benchmarks() {
	local out pattern flags binary
	binary=$(mktemp) && go test -c -o "$binary" ./bench || return 1
	while read -r pattern flags; do
		printf '%s %s\n' "$pattern" "$flags"
		# shellcheck disable=SC2086 # a word for each flag
		out=$(in_folder bench "$binary" -test.run xxx -test.benchtime 1x -test.bench "$pattern" $flags) || { printf '%s\n' "$out" && return 1; }
		grep -E '^Benchmark|^--- SKIP' <<<"$out" || { printf 'no benchmark is named %s\n' "$pattern" && return 1; }
	done
	rm -f "$binary"
}
