package parquet

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/bloom/xxhash"
	"github.com/parquet-go/parquet-go/format"
)

// hashKey is the key of hashes, in 16 hex digits: in the metadata of a column
// chunk of the xxHash64 of its bytes, in that of the file of their hashes' hash.
// sealKey is that of the footer's checksum: the xxHash64 of the footer with
// noSeal in the checksum's place.
const (
	hashKey = "hostbound.hash"
	sealKey = "hostbound.seal"
	noSeal  = "0000000000000000"
)

// Reserved reports whether a key of the metadata is this package's own.
func Reserved(key string) bool { return key == hashKey || key == sealKey }

// Sum64 returns the xxHash64 of b.
func Sum64(b []byte) uint64 { return xxhash.Sum64(b) }

// hex is a hash as files hold it: 16 digits, so that a seal has a length of its own.
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

// chunkHash returns the hash that is stored with a column chunk, "" for none.
func chunkHash(m *format.ColumnMetaData) string {
	for i := range m.KeyValueMetadata {
		if kv := &m.KeyValueMetadata[i]; kv.Key == hashKey {
			return kv.Value
		}
	}
	return ""
}

// Hash returns the hash of the rows of a sealed file, "" for another one.
func (f *File) Hash() string {
	if !f.sealed {
		return ""
	}
	h, _ := f.Metadata(hashKey)
	return h
}

// sealAt returns where the checksum of a footer is, -1 where there is none. It
// is in the last text of the metadata.
func sealAt(footer []byte) int {
	mark := append([]byte(sealKey), 0x18, byte(len(noSeal))) // the text of field 2 follows that of field 1
	i := bytes.LastIndex(footer, mark)
	if i < 0 || i+len(mark)+len(noSeal) > len(footer) {
		return -1
	}
	return i + len(mark)
}

// checkSeal reports whether a footer has a checksum. One that is wrong is an
// error. It hashes the bytes as they are read, not what was decoded of them: no field
// that this package does not know can differ unnoticed.
func checkSeal(footer []byte, f *File) (bool, error) {
	want, ok := f.Metadata(sealKey)
	if !ok {
		return false, nil
	}
	b := bytes.Clone(footer) // the strings of f are in the memory of footer
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
