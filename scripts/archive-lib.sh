# shellcheck shell=bash
# Sourced by the archive scripts beside it: where the commands are, and which
# reports there are.

# hostbound_bin prints the folder of the commands: that of HOSTBOUND_BIN, else
# that of nsys2arrow on PATH, else one under the user's caches into which they
# are built from this repository, which takes Go.
hostbound_bin() {
	local dir tmp file
	if [ -n "${HOSTBOUND_BIN:-}" ]; then
		if [ ! -x "$HOSTBOUND_BIN/nsys2arrow" ]; then
			echo "error: HOSTBOUND_BIN=$HOSTBOUND_BIN holds no nsys2arrow (scripts/install.sh puts the commands into a folder)" >&2
			return 2
		fi
		(cd "$HOSTBOUND_BIN" && pwd)
		return
	fi
	if file=$(command -v nsys2arrow) && [ -x "$(dirname "$file")/metrics" ]; then
		(cd "$(dirname "$file")" && pwd)
		return
	fi
	if ! command -v go >/dev/null; then
		echo "error: no commands: set HOSTBOUND_BIN or PATH to their folder (scripts/install.sh makes one), or install Go" >&2
		return 2
	fi
	dir=${XDG_CACHE_HOME:-$HOME/.cache}/hostbound/bin
	mkdir -p "$dir"
	tmp=$(mktemp -d "$dir/.build-XXXXXX")
	if ! (cd "$(dirname "${BASH_SOURCE[0]}")/.." && go build -o "$tmp/" ./cmd/nsys2arrow ./cmd/isolate ./cmd/phase ./cmd/metrics ./cmd/verdict) >&2; then
		rm -rf "$tmp"
		return 2
	fi
	for file in "$tmp"/*; do # each at once: others may be using them
		mv -f "$file" "$dir/"
	done
	rmdir "$tmp"
	echo "$dir"
}

# stem prints the name of a report without what says how it was exported.
stem() {
	local name=$1
	case $name in
	*.sqlite) name=${name%.sqlite} ;;
	*_pqtdir) name=${name%_pqtdir} ;;
	*.nsys-rep) name=${name%.nsys-rep} ;;
	esac
	printf '%s\n' "$name"
}

# list_reports DIRECTORY [FIND OPTION...] lists the reports beneath a directory,
# a line each, in the order of their names, rank2 before rank10. Where several
# have one stem it is one report: an SQLite export goes before a parquetdir
# export, and that before the capture. Names with a newline are not supported.
list_reports() {
	local dir=$1
	shift
	(cd "$dir" && find -L . "$@" \( -type d -name '*_pqtdir' -print -prune -o -type f \( -name '*.sqlite' -o -name '*.nsys-rep' \) -print \)) |
		sed -E 's|^\./||; t x; :x; s|^(.*)\.sqlite$|\1\t1\t&|; t; s|^(.*)_pqtdir$|\1\t2\t&|; t; s|^(.*)\.nsys-rep$|\1\t3\t&|' |
		LC_ALL=C sort -t $'\t' -k1,1V -k2,2n | awk -F '\t' 'NR == 1 || $1 != last { print $3 } { last = $1 }'
}
