package arrow

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

func testTable(n int) *table.Table {
	t := table.New("metrics", 3, table.Fields("name text, n int, x float, ok bool")...)
	t.Meta["window"] = "benchmark"
	for i := range n {
		if i%5 == 1 {
			t.Append(nil, nil, nil, nil)
		} else {
			t.Append(strings.Repeat("m", i%7), i, float64(i)/3, i%2 == 0)
		}
	}
	return t
}

func tableStream(t testing.TB) []byte {
	var out bytes.Buffer
	if err := WriteTable(&out, testTable(9)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestTableRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 8, 9, event.MaxBatchRows - 1, event.MaxBatchRows, event.MaxBatchRows + 1} {
		var out bytes.Buffer
		want := testTable(n)
		if err := WriteTable(&out, want); err != nil {
			t.Fatal(err)
		}
		_, got, err := Open(&out)
		if err != nil {
			t.Fatalf("%d rows: %v", n, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d rows: another table", n)
		}
	}
}

func TestEveryPrefixOfATableIsCut(t *testing.T) {
	stream := tableStream(t)
	for n := range stream {
		if _, _, err := Open(bytes.NewReader(stream[:n])); !errors.Is(err, ErrCut) {
			t.Fatalf("the first %d of %d bytes: %v", n, len(stream), err)
		}
	}
}

func TestDamagedTables(t *testing.T) {
	stream := tableStream(t)
	for i := range stream {
		for bit := range 8 {
			bad := bytes.Clone(stream)
			bad[i] ^= 1 << bit
			Open(bytes.NewReader(bad)) // must return
		}
	}
}

func TestOpenReadsEither(t *testing.T) {
	in, tbl, err := Open(bytes.NewReader(small(t)))
	if err != nil || in == nil || tbl != nil || in.Header().Stage != "nsys2arrow" {
		t.Errorf("events: %v %v %v", in, tbl, err)
	}
	in, tbl, err = Open(bytes.NewReader(tableStream(t)))
	if err != nil || in != nil || tbl.Len() != 9 {
		t.Errorf("a table: %v %v %v", in, tbl, err)
	}
}
