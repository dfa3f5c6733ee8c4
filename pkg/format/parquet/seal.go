package parquet

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/bloom/xxhash"
	"github.com/parquet-go/parquet-go/format"
)

// hashKey is the key of hashes, each 16 hex digits: in the metadata of a column chunk
// the xxHash64 of its bytes, in that of the file the hash of those hashes. sealKey is
// the key of the footer's checksum: the xxHash64 of the footer with noSeal in place of
// the checksum.
const (
	hashKey = "hostbound.hash"
	sealKey = "hostbound.seal"
	noSeal  = "0000000000000000"
)

// Reserved reports whether a metadata key is this package's own.
func Reserved(key string) bool { return key == hashKey || key == sealKey }

// Sum64 returns the xxHash64 of b.
func Sum64(b []byte) uint64 { return xxhash.Sum64(b) }

// hex formats a hash as 16 digits, so that a seal has a fixed length.
func hex(v uint64) string { return fmt.Sprintf("%016x", v) }

// contentHash returns the hash of all rows of a file.
func contentHash(m *format.FileMetaData) uint64 {
	var all []byte
	for g := range m.RowGroups {
		for i := range m.RowGroups[g].Columns {
			all = append(all, chunkHash(&m.RowGroups[g].Columns[i].MetaData)...)
		}
	}
	return xxhash.Sum64(all)
}

// chunkHash returns the hash stored with a column chunk, "" if there is none.
func chunkHash(m *format.ColumnMetaData) string {
	for i := range m.KeyValueMetadata {
		if kv := &m.KeyValueMetadata[i]; kv.Key == hashKey {
			return kv.Value
		}
	}
	return ""
}

// Hash returns the hash of the rows of a sealed file, "" for any other file.
func (f *File) Hash() string {
	if !f.sealed {
		return ""
	}
	h, _ := f.Metadata(hashKey)
	return h
}

// sealAt returns the offset of the checksum in a footer, -1 if there is none. It is the
// last string of the metadata.
func sealAt(footer []byte) int {
	mark := append([]byte(sealKey), 0x18, byte(len(noSeal))) // field 2 follows field 1
	i := bytes.LastIndex(footer, mark)
	if i < 0 || i+len(mark)+len(noSeal) > len(footer) {
		return -1
	}
	return i + len(mark)
}

// checkSeal reports whether a footer has a checksum; a wrong one is an error. It hashes
// the footer's bytes and not what was decoded from them, so that unknown fields cannot
// change unnoticed.
func checkSeal(footer []byte, f *File) (bool, error) {
	want, ok := f.Metadata(sealKey)
	if !ok {
		return false, nil
	}
	b := bytes.Clone(footer) // the strings of f share the memory of footer
	at := sealAt(b)
	if at < 0 || len(want) != len(noSeal) {
		return false, errors.New("damaged footer: no checksum")
	}
	copy(b[at:], noSeal)
	if hex(xxhash.Sum64(b)) != want {
		return false, errors.New("damaged footer: its checksum is wrong")
	}
	return true, nil
}
