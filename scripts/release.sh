#!/usr/bin/env bash
# Makes the files of a release out of a tag of this repository:
#
#	scripts/release.sh [--targets 'linux/amd64 …'] TAG DIR
#
# DIR gets, for linux and macOS on amd64 and arm64, an archive with what
# scripts/install.sh installs; for linux also a Debian package and an image
# without anything else in it (an OCI archive, as docker load, podman load and
# skopeo take it); a Homebrew formula, and SHA256SUMS of all.
#
# Only what is in the tag is built, and every command says its version. Building
# the same tag with the same Go again makes the same bytes. Needs Go, git, GNU tar
# and dpkg-deb.
set -euo pipefail
export LC_ALL=C
umask 022 # modes are in archives
targets='linux/amd64 linux/arm64 darwin/amd64 darwin/arm64'
home=https://github.com/hostbound/hostbound
about='says whether the host holds the GPUs of an LLM inference run back'

usage() {
	echo "release: error: $1" >&2
	echo "release: hint: release.sh [--targets 'linux/amd64 …'] TAG DIR" >&2
	exit 2
}
if [ "${1:-}" = --targets ]; then
	[ $# -ge 2 ] || usage "--targets takes a value"
	targets=$2
	shift 2
fi
[ $# -eq 2 ] || usage "give a tag and a directory"
tag=$1
[[ $tag =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] || usage "$tag is not a version such as v1.2.3"
version=${tag#v}
mkdir -p "$2"
[ -z "$(ls -A "$2")" ] || usage "$2 is not empty: its sums would be of other files, too"
dir=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
git rev-parse -q --verify "refs/tags/$tag" >/dev/null || usage "there is no tag $tag"
for tool in go git dpkg-deb; do
	command -v "$tool" >/dev/null || usage "needs $tool"
done

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
git clone -q --depth 1 --branch "$tag" "file://$PWD" "$tmp/source" 2>/dev/null
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$tag^{commit}")
export SOURCE_DATE_EPOCH GOFLAGS=-buildvcs=true

# packed writes a folder as a tar archive that depends on its files alone.
packed() {
	tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu -C "$1" -cf - "$2"
}

# sum prints the SHA-256 of a file.
sum() { sha256sum "$1" | cut -d ' ' -f 1; }

# deb makes the Debian package of an installed tree.
deb() {
	local root=$tmp/deb arch=$2
	rm -rf "$root"
	mkdir -p "$root/usr" "$root/DEBIAN" "$root/usr/share/doc/hostbound"
	cp -a "$1/bin" "$1/share" "$root/usr/"
	cp LICENSE "$root/usr/share/doc/hostbound/copyright"
	gzip -n9c .github/CHANGELOG.md >"$root/usr/share/doc/hostbound/CHANGELOG.md.gz"
	printf 'hostbound (%s) unstable; urgency=medium\n\n  * What changed is in CHANGELOG.md.gz.\n\n -- hostbound <%s>  %s\n' \
		"${version//-/\~}" "$home" "$(date -uRd "@$SOURCE_DATE_EPOCH")" | gzip -n9 >"$root/usr/share/doc/hostbound/changelog.gz"
	gzip -n9 "$root"/usr/share/man/man1/*.1
	cat >"$root/DEBIAN/control" <<-END
		Package: hostbound
		Version: ${version//-/\~}
		Architecture: $arch
		Maintainer: hostbound <$home>
		Homepage: $home
		Section: science
		Priority: optional
		Description: $about
		 Filters over traces of Nsight Systems and PyTorch's profiler: steps, metrics,
		 a verdict, where idle time goes, and what changed between two runs.
	END
	find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	dpkg-deb --root-owner-group -Zgzip --build "$root" "$dir/hostbound_${version}_$arch.deb" >/dev/null
}

# blob puts a file among those of an image and prints what a manifest says of it.
blob() {
	local digest
	digest=$(sum "$2")
	printf '{"mediaType":"%s","digest":"sha256:%s","size":%s}' "$1" "$digest" "$(stat -c %s "$2")"
	mv "$2" "$image/blobs/sha256/$digest"
}

# image makes an image that holds the binary and its links, without a layer below.
image() {
	local arch=$2 image=$tmp/image media=application/vnd.oci.image layer
	rm -rf "$image"
	mkdir -p "$image/blobs/sha256"
	packed "$1" bin >"$tmp/layer"
	layer=$(sum "$tmp/layer")
	gzip -n9 "$tmp/layer"
	cat >"$tmp/config" <<-END
		{"architecture":"$arch","os":"linux","created":"$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)",
		"config":{"Entrypoint":["/bin/hostbound"],"Env":["PATH=/bin"],"WorkingDir":"/data"},
		"rootfs":{"type":"layers","diff_ids":["sha256:$layer"]}}
	END
	cat >"$tmp/manifest" <<-END
		{"schemaVersion":2,"mediaType":"$media.manifest.v1+json",
		"config":$(blob $media.config.v1+json "$tmp/config"),
		"layers":[$(blob $media.layer.v1.tar+gzip "$tmp/layer.gz")]}
	END
	printf '{"schemaVersion":2,"manifests":[%s]}\n' "$(blob $media.manifest.v1+json "$tmp/manifest" |
		sed "s|}$|,\"annotations\":{\"org.opencontainers.image.ref.name\":\"$version\"}}|")" >"$image/index.json"
	printf '{"imageLayoutVersion":"1.0.0"}\n' >"$image/oci-layout"
	packed "$image" . >"$dir/hostbound-$version-image-$arch.tar"
}

# formula writes the Homebrew formula for the archives that were made.
formula() {
	printf 'class Hostbound < Formula\n  desc "%s"\n  homepage "%s"\n  version "%s"\n  license "%s"\n' \
		"${about^}" "$home" "$version" "$(sed -n '1s/ License.*//p' LICENSE)"
	local os arch file
	for os in darwin linux; do
		for arch in arm64 amd64; do
			file=hostbound-$version-$os-$arch.tar.gz
			[ -f "$dir/$file" ] || continue
			printf '\n  if OS.%s? && Hardware::CPU.%s?\n    url "%s/releases/download/%s/%s"\n    sha256 "%s"\n  end\n' \
				"$([ $os = darwin ] && echo mac || echo linux)" "$([ $arch = arm64 ] && echo arm || echo intel)" \
				"$home" "$tag" "$file" "$(sum "$dir/$file")"
		done
	done
	printf '\n  def install\n    bin.install Dir["bin/*"]\n    man1.install Dir["share/man/man1/*"]\n'
	printf '    bash_completion.install Dir["share/bash-completion/completions/*"]\n'
	printf '    zsh_completion.install Dir["share/zsh/site-functions/*"]\n'
	printf '    fish_completion.install Dir["share/fish/vendor_completions.d/*"]\n  end\n'
	printf '\n  test do\n    assert_match "%s", shell_output("#{bin}/verdict --version")\n  end\nend\n' "$version"
}

cd "$tmp/source"
scripts/install.sh "$tmp/native/bin" >/dev/null
[ "$("$tmp/native/bin/verdict" --version)" = "verdict version $tag" ] || usage "what Go built does not say that it is $tag"
for target in $targets; do
	os=${target%/*} arch=${target#*/}
	name=hostbound-$version-$os-$arch
	rm -rf "${tmp:?}/$name"
	cp -a "$tmp/native" "$tmp/$name"
	GOOS=$os GOARCH=$arch CGO_ENABLED=0 go build -trimpath -pgo=scripts/hostbound.pgo -ldflags='-s -w' -o "$tmp/$name/bin/hostbound" ./cmd/hostbound
	if [ "$os" = linux ]; then
		deb "$tmp/$name" "$arch"
		image "$tmp/$name" "$arch"
	fi
	cp LICENSE README.md "$tmp/$name/"
	packed "$tmp" "$name" | gzip -n9 >"$dir/$name.tar.gz"
done
formula >"$dir/hostbound.rb"
(cd "$dir" && sha256sum hostbound* >SHA256SUMS)
cat "$dir/SHA256SUMS"
