package cmd

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hostbound/hostbound/pkg/cli/command"
)

// TestRelease looks into what scripts/release.sh made in the folder HOSTBOUND_RELEASE:
// binaries are of the version and for the system that they are named after, and need
// nothing that is not there; images hold them as they say; the formula names them.
func TestRelease(t *testing.T) {
	dir := os.Getenv("HOSTBOUND_RELEASE")
	if dir == "" {
		t.Skip("HOSTBOUND_RELEASE is not set: no release was made")
	}
	formula := string(readFile(t, filepath.Join(dir, "hostbound.rb")))
	version := regexp.MustCompile(`version "(.+)"`).FindStringSubmatch(formula)[1]
	archives, err := filepath.Glob(filepath.Join(dir, "*.tar.gz"))
	if err != nil || len(archives) == 0 || strings.Count(formula, "sha256 \"") != len(archives) {
		t.Fatalf("%q in %s, %v, and the formula:\n%s", archives, dir, err, formula)
	}
	for _, archive := range archives {
		t.Run(filepath.Base(archive), func(t *testing.T) {
			data := readFile(t, archive)
			entry := fmt.Sprintf("url \"https://github.com/hostbound/hostbound/releases/download/v%s/%s\"\n    sha256 \"%x\"", version, filepath.Base(archive), sha256.Sum256(data))
			if !strings.Contains(formula, entry) {
				t.Errorf("the formula has no %s", entry)
			}
			name := strings.TrimSuffix(filepath.Base(archive), ".tar.gz")
			system := strings.Split(strings.TrimPrefix(name, "hostbound-"+version+"-"), "-")
			files := unpack(t, gunzip(t, data))
			binary := files[name+"/bin/hostbound"]
			wantBinary(t, binary, system[0], system[1], "v"+version)
			for _, c := range command.All {
				called := c.Name
				if c.Installed != "" {
					called = c.Installed
				}
				if string(files[name+"/bin/"+called]) != "-> hostbound" || len(files[name+"/share/man/man1/"+called+".1"]) == 0 {
					t.Errorf("no %s or no manual page of it", called)
				}
			}
			if !bytes.HasPrefix(files[name+"/bin/hostbound-capture"], []byte("#!/usr/bin/env bash\n")) {
				t.Error("no hostbound-capture")
			}
			if system[0] == "linux" {
				wantImage(t, filepath.Join(dir, "hostbound-"+version+"-image-"+system[1]+".tar"), system[1], binary)
			}
		})
	}
	if ruby, err := exec.LookPath("ruby"); err == nil {
		if out, err := exec.Command(ruby, "-wc", filepath.Join(dir, "hostbound.rb")).CombinedOutput(); err != nil || string(out) != "Syntax OK\n" {
			t.Errorf("the formula: %v, %s", err, out)
		}
	}
}

// wantBinary wants a binary of ours for a system that it alone is enough for.
func wantBinary(t *testing.T, binary []byte, system, arch, version string) {
	t.Helper()
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range info.Settings {
		if want, known := map[string]string{"GOOS": system, "GOARCH": arch, "CGO_ENABLED": "0", "-trimpath": "true", "vcs.modified": "false"}[s.Key]; known && s.Value != want {
			t.Errorf("%s is %s, not %s", s.Key, s.Value, want)
		}
	}
	if info.Main.Version != version || len(binary) > 30_000_000 {
		t.Errorf("version %s, not %s, of %d bytes", info.Main.Version, version, len(binary))
	}
	if system == "linux" {
		file, err := elf.NewFile(bytes.NewReader(binary))
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]; file.Machine != want || file.Type != elf.ET_EXEC || file.Section(".interp") != nil || file.Section(".dynamic") != nil {
			t.Errorf("%v, %v, or not static", file.Machine, file.Type)
		}
		return
	}
	file, err := macho.NewFile(bytes.NewReader(binary))
	if err != nil {
		t.Fatal(err)
	}
	libraries, err := file.ImportedLibraries()
	alien := slices.ContainsFunc(libraries, func(l string) bool {
		return !strings.HasPrefix(l, "/usr/lib/") && !strings.HasPrefix(l, "/System/Library/")
	})
	if want := map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[arch]; file.Cpu != want || file.Type != macho.TypeExec || alien || err != nil {
		t.Errorf("%v, %v, with %q, %v", file.Cpu, file.Type, libraries, err)
	}
	const signature = 0x1d // without which macOS on arm64 runs nothing
	signed := slices.ContainsFunc(file.Loads, func(l macho.Load) bool { return file.ByteOrder.Uint32(l.Raw()) == signature })
	if !signed && arch == "arm64" {
		t.Error("not signed")
	}
}

// blob is what an image says of a part of it.
type blob struct {
	Digest string
	Size   int
}

// wantImage wants an image whose one layer is the binary with its links, and runs it where
// that can be.
func wantImage(t *testing.T, name, arch string, binary []byte) {
	t.Helper()
	files := unpack(t, readFile(t, name))
	part := func(b blob, into any) []byte {
		t.Helper()
		data := files["blobs/"+strings.Replace(b.Digest, ":", "/", 1)]
		if len(data) != b.Size || fmt.Sprintf("sha256:%x", sha256.Sum256(data)) != b.Digest {
			t.Fatalf("%+v has %d bytes", b, len(data))
		}
		if into != nil {
			if err := json.Unmarshal(data, into); err != nil {
				t.Fatal(err)
			}
		}
		return data
	}
	var index struct{ Manifests []blob }
	if err := json.Unmarshal(files["index.json"], &index); err != nil || len(index.Manifests) != 1 {
		t.Fatalf("%s, %v", files["index.json"], err)
	}
	var manifest struct {
		Config blob
		Layers []blob
	}
	part(index.Manifests[0], &manifest)
	var config struct {
		Architecture, OS string
		Config           struct{ Entrypoint, Env []string }
		RootFS           struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	part(manifest.Config, &config)
	if config.Architecture != arch || config.OS != "linux" || len(manifest.Layers) != 1 {
		t.Fatalf("%+v, %+v", config, manifest)
	}
	layer := gunzip(t, part(manifest.Layers[0], nil))
	if got := fmt.Sprintf("sha256:%x", sha256.Sum256(layer)); !slices.Equal(config.RootFS.DiffIDs, []string{got}) {
		t.Errorf("a layer %s, not %v", got, config.RootFS.DiffIDs)
	}
	root := unpack(t, layer)
	if entry := strings.TrimPrefix(config.Config.Entrypoint[0], "/"); !bytes.Equal(root[entry], binary) || string(root[path.Join(path.Dir(entry), "verdict")]) != "-> hostbound" {
		t.Errorf("%s is another program than that of the archive, or has no links", entry)
	}
	if os.Geteuid() != 0 || runtime.GOARCH != arch {
		return
	}
	dir := t.TempDir()
	tree := exec.Command("tar", "-C", dir, "-xf", "-")
	tree.Stdin = bytes.NewReader(layer)
	if out, err := tree.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := &exec.Cmd{Path: config.Config.Entrypoint[0], Args: append(config.Config.Entrypoint, "verdict", "--version"), Env: config.Config.Env, Dir: "/",
		SysProcAttr: &syscall.SysProcAttr{Chroot: dir}}
	if out, err := run.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "verdict version v") {
		t.Errorf("in the image: %v, %s", err, out)
	}
}

// readFile returns what a file holds.
func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func gunzip(t *testing.T, data []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return data
}

// unpack returns what a tar archive holds, of links "-> " and where to.
func unpack(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		name := path.Clean(h.Name)
		if files[name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeSymlink {
			files[name] = []byte("-> " + h.Linkname)
		}
	}
}
