#!/usr/bin/env bash
# Installs the commands, their manual pages and their completion, and what coding agents take:
#
#	scripts/install.sh [--mcp] [--skill SKILLS] DIR
#	scripts/install.sh --skill SKILLS
#
# DIR gets one static binary, hostbound, a link to it for each command, and the scripts
# capture.sh and profile_lines.py as hostbound-capture and hostbound-profile-lines. Manual
# pages and completion go to share/ beside DIR where it is called bin (as in
# /usr/local/bin), where man and the shells look for them, and else into DIR/share.
#
# With --mcp it gets hostbound-mcp, too, a server of the Model Context Protocol. SKILLS, a folder
# such as ~/.claude/skills, gets the skill, as SKILLS/hostbound.
#
# The command in cmd/diff is called tracediff there, so that it never stands in
# front of the system's diff. A file of somebody else that has the name of a command is
# not replaced: nothing is installed then.
set -euo pipefail
usage() {
	echo "install: error: $1" >&2
	echo "install: hint: scripts/install.sh [--mcp] [--skill SKILLS] DIR, or --skill SKILLS alone" >&2
	exit 2
}
mcp='' skills='' dir=''
while [ $# -gt 0 ]; do
	case $1 in
	--mcp) mcp=cmd/mcp/main.go ;;
	--skill) skills=${2:-} && shift && [ -n "$skills" ] || usage "--skill takes a folder" ;;
	-*) usage "unknown flag: $1" ;;
	*) [ -z "$dir" ] || usage "two folders: $dir and $1" && dir=$1 ;;
	esac
	shift
done
[ -n "$dir" ] || { [ -n "$skills" ] && [ -z "$mcp" ]; } || usage "into which folder?"

# named prints what the command in a folder of cmd is installed as.
named() {
	local name
	name=$(basename "$1")
	case $name in
	diff) name=tracediff ;;
	mcp) name=hostbound-mcp ;;
	esac
	echo "$name"
}

# taken ends the script where a file is there that is none of hostbound's.
taken() {
	echo "install: error: $1 is there, and is none of hostbound's" >&2
	echo "install: hint: give another folder, or move it away" >&2
	exit 2
}

# Names of folders are of where the caller is.
[ -z "$skills" ] || { mkdir -p "$skills" && skills=$(cd "$skills" && pwd); }
[ -z "$dir" ] || { mkdir -p "$dir" && dir=$(cd "$dir" && pwd); }
share=$dir/share
[ "$(basename "$dir")" = bin ] && share=$(dirname "$dir")/share
cd "$(dirname "$0")/.."

skill=$skills/hostbound
if [ -n "$skills" ] && [ -e "$skill" ] && ! grep -qsx 'name: hostbound' "$skill/SKILL.md"; then
	taken "$skill"
fi
# install_skill installs what an agent reads; the fixtures and the grader are for who measures one.
install_skill() {
	[ -n "$skills" ] || return 0
	mkdir -p "$skill/references"
	install -m 644 scripts/skill/SKILL.md "$skill/"
	install -m 644 scripts/skill/references/*.md "$skill/references/"
	echo "$skill"
}
if [ -z "$dir" ]; then
	install_skill
	exit
fi

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
shopt -s extglob
mains=(cmd/!(mcp)/main.go $mcp)
for command in "${mains[@]}"; do
	file=$dir/$(named "$(dirname "$command")")
	if [ -e "$file" ] && [ "$(readlink "$file")" != hostbound ] && ! grep -qs github.com/hostbound/hostbound "$file"; then
		taken "$file"
	fi
done

for program in hostbound ${mcp:+mcp}; do
	CGO_ENABLED=0 go build -o "$dir/.hostbound" -trimpath -pgo=scripts/hostbound.pgo -ldflags='-s -w' "./cmd/$program"
	mv -f "$dir/.hostbound" "$dir/$(named "$program")" # at once: someone may be running it
done

for script in "${scripts[@]}"; do
	install -m 755 "scripts/$script" "$(script_at "$script")"
done

man=$share/man/man1
bash=$share/bash-completion/completions
zsh=$share/zsh/site-functions
fish=$share/fish/vendor_completions.d
mkdir -p "$man" "$bash" "$zsh" "$fish"
for command in "${mains[@]}"; do
	name=$(named "$(dirname "$command")")
	if [ "$name" != hostbound ] && [ "$name" != hostbound-mcp ]; then
		ln -sf hostbound "$dir/$name"
	fi
	"$dir/$name" --man >"$man/$name.1"
	"$dir/$name" --completion bash >"$bash/$name"
	"$dir/$name" --completion zsh >"$zsh/_$name"
	"$dir/$name" --completion fish >"$fish/$name.fish"
	echo "$dir/$name"
done
install_skill
