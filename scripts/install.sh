#!/usr/bin/env bash
# Builds the commands into a folder of your choice:
#
#	scripts/install.sh DIR
#
# The command in cmd/diff becomes tracediff there, so that it never stands in
# front of the system's diff.
set -euo pipefail
dir=${1:?usage: scripts/install.sh DIR}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
cd "$(dirname "$0")/.."
for command in cmd/*/main.go; do
	name=$(basename "$(dirname "$command")")
	target=$name
	[ "$name" = diff ] && target=tracediff
	go build -o "$dir/$target" "./cmd/$name"
	echo "$dir/$target"
done
