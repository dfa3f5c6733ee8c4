#!/usr/bin/env bash
# Installs the commands, their manual pages and their completion:
#
#	scripts/install.sh DIR
#
# DIR gets one static binary, hostbound, a link to it for each command, and the scripts
# capture.sh and profile_lines.py as hostbound-capture and hostbound-profile-lines. Manual
# pages and completion go to share/ beside DIR where it is called bin (as in
# /usr/local/bin), where man and the shells look for them, and else into DIR/share.
#
# The command in cmd/diff is called tracediff there, so that it never stands in
# front of the system's diff. A file of somebody else that has the name of a command is
# not replaced: nothing is installed then.
set -euo pipefail
dir=${1:?usage: scripts/install.sh DIR}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
share=$dir/share
[ "$(basename "$dir")" = bin ] && share=$(dirname "$dir")/share
cd "$(dirname "$0")/.."

# named prints what the command in a folder of cmd is installed as.
named() {
	local name
	name=$(basename "$1")
	[ "$name" = diff ] && name=tracediff
	echo "$name"
}

# taken ends the script where a file is there that is none of hostbound's.
taken() {
	echo "install: error: $1 is there, and is none of hostbound's" >&2
	echo "install: hint: give another folder, or move it away" >&2
	exit 2
}

scripts=(capture.sh profile_lines.py)
# script_at is where a script goes.
script_at() {
	local name=${1%.*}
	echo "$dir/hostbound-${name//_/-}"
}
for script in "${scripts[@]}"; do
	file=$(script_at "$script")
	# Ours, of any version, begins as it does now: with what it is for.
	if [ -e "$file" ] && ! grep -qsF "$(sed -n 2p "scripts/$script")" "$file"; then
		taken "$file"
	fi
done
for command in cmd/*/main.go; do
	file=$dir/$(named "$(dirname "$command")")
	if [ -e "$file" ] && [ "$(readlink "$file")" != hostbound ] && ! grep -qs github.com/hostbound/hostbound "$file"; then
		taken "$file"
	fi
done

CGO_ENABLED=0 go build -o "$dir/.hostbound" -trimpath -pgo=scripts/hostbound.pgo -ldflags='-s -w' ./cmd/hostbound
mv -f "$dir/.hostbound" "$dir/hostbound" # at once: someone may be running it

for script in "${scripts[@]}"; do
	install -m 755 "scripts/$script" "$(script_at "$script")"
done

man=$share/man/man1
bash=$share/bash-completion/completions
zsh=$share/zsh/site-functions
fish=$share/fish/vendor_completions.d
mkdir -p "$man" "$bash" "$zsh" "$fish"
for command in cmd/*/main.go; do
	name=$(named "$(dirname "$command")")
	if [ "$name" != hostbound ]; then
		ln -sf hostbound "$dir/$name"
	fi
	"$dir/$name" --man >"$man/$name.1"
	"$dir/$name" --completion bash >"$bash/$name"
	"$dir/$name" --completion zsh >"$zsh/_$name"
	"$dir/$name" --completion fish >"$fish/$name.fish"
	echo "$dir/$name"
done
