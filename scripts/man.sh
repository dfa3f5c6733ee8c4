#!/usr/bin/env bash
# Writes the manual pages of the commands into a folder of your choice:
#
#	scripts/man.sh DIR && man -l DIR/verdict.1
set -euo pipefail
dir=${1:?usage: scripts/man.sh DIR}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
cd "$(dirname "$0")/.."
for command in cmd/*/main.go; do
	name=$(basename "$(dirname "$command")")
	go run "./cmd/$name" --man >"$dir/$name.1"
	echo "$dir/$name.1"
done
