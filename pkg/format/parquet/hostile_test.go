package parquet

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	lib "github.com/parquet-go/parquet-go"
)

// readHostile reads all of a file, which may be anything. It returns how many
// bytes of memory were taken for that.
func readHostile(b []byte) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if f, err := NewFile(bytes.NewReader(b), int64(len(b))); err == nil {
		names := make([]string, 0, len(f.cols))
		var v Vector
		for _, c := range f.Columns() {
			names = append(names, c.Name)
			for g := range f.Groups() {
				f.ReadColumn(g, c.Name, nil, &v)
				f.ReadInt32(g, c.Name, nil, &v)
				f.ReadNumbered(g, c.Name, &v)
			}
		}
		rows := int64(0)
		f.Scan(names, All, 1000, func(c *Chunk) error { rows += int64(c.N); return nil })
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestHostile changes bytes of files of all compressions: no panic, and no more
// memory than a multiple of the file.
func TestHostile(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	rows := make([]exotic, 300)
	for i := range rows {
		x := int64(rng.Uint64N(1000))
		text := strings.Repeat("text", int(x%20))
		rows[i] = exotic{Plain: x, Delta: int64(i), Dict: &x, Text: text, DLen: text, DText: &text, List: []int32{1, 2}}
	}
	n := 400
	if os.Getenv("HOSTBOUND_ALL") == "" {
		n = 100
	}
	for _, codec := range []lib.WriterOption{lib.Compression(&lib.Uncompressed), lib.Compression(&lib.Snappy), lib.Compression(&lib.Gzip),
		lib.Compression(&lib.Brotli), lib.Compression(&lib.Zstd), lib.Compression(&lib.Lz4Raw)} {
		for _, version := range []int{1, 2} {
			var b bytes.Buffer
			w := lib.NewGenericWriter[exotic](&b, codec, lib.DataPageVersion(version))
			w.Write(rows)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			for range n {
				bad := bytes.Clone(b.Bytes())
				for range 1 + rng.IntN(3) {
					bad[rng.IntN(len(bad))] = byte(rng.Uint32())
				}
				if taken := readHostile(bad); taken > 64<<20 {
					t.Fatalf("a file of %d bytes took %d MiB", len(bad), taken>>20)
				}
			}
		}
	}
}

// TestLargeClaims gives lengths that are not there.
func TestLargeClaims(t *testing.T) {
	huge := binary.AppendUvarint(nil, 1<<31-1)
	for _, footer := range [][]byte{
		append([]byte{0x15, 2, 0x19, 0xfc}, huge...), // a schema of 2^31 elements
		append([]byte{0x15, 2, 0x18}, huge...),       // a text of 2^31 bytes
		append([]byte{0x15, 2, 0x19, 0xf5}, huge...), // as many numbers
		bytes.Repeat([]byte{0x1c}, 1<<20),            // structures in structures
	} {
		b := append([]byte(magic), footer...)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(footer)))
		b = append(b, magic...)
		if taken := readHostile(b); taken > 8<<20 {
			t.Errorf("footer % x: %d MiB", footer[:min(len(footer), 10)], taken>>20)
		}
	}
	run := append(binary.AppendUvarint(nil, 1<<31<<1), 1)
	if _, err := decodeBits(nil, 0, 10, run); err != nil {
		t.Error("a run that is longer than what is wanted is none of our business:", err)
	}
	head := binary.AppendUvarint(nil, 128)
	head = binary.AppendUvarint(head, 4)
	head = binary.AppendUvarint(head, 1<<40)
	if _, _, err := deltaInts(nil, append(head, 0), 10); err == nil {
		t.Error("2^40 differences in a page of 10")
	}
}
