package arrow

import (
	"bytes"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// sealedStreams are streams of all kinds: with rows, without, and a table.
func sealedStreams(t testing.TB) map[string][]byte {
	b := randomBatch(seeded(7), 300, allCols, 3)
	tab := table.New("metrics", 1, table.Fields("a int, b text")...)
	for i, text := range []string{"x", "y", ""} {
		tab.Append(i+1, text)
	}
	var out bytes.Buffer
	if err := WriteTable(&out, tab); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"events": encode(t, testHeader(allCols), b, b), "no events": encode(t, testHeader(event.BaseCols)), "a table": out.Bytes(),
	}
}

// consume reads a stream of any kind to its end.
func consume(stream []byte) error {
	events, _, err := Open(bytes.NewReader(stream))
	for err == nil && events != nil {
		_, err = events.Next()
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// TestFlippedBits changes each of many bits of a stream: none is read as if
// nothing had happened.
func TestFlippedBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, stream := range sealedStreams(t) {
		if err := consume(stream); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		silent := 0
		flips := cases.Few(500, 500, 3000)
		for range flips {
			bit := rng.IntN(8 * len(stream))
			stream[bit/8] ^= 1 << (bit % 8)
			if consume(stream) == nil {
				silent++
				t.Logf("%s: bit %d of byte %d, %d before the end", name, bit%8, bit/8, len(stream)-bit/8)
			}
			stream[bit/8] ^= 1 << (bit % 8)
		}
		if silent > 0 {
			t.Errorf("%s: %d of %d flipped bits were not noticed", name, silent, flips)
		}
	}
}

// TestEveryBit changes every bit of a small stream.
func TestEveryBit(t *testing.T) {
	stream := sealedStreams(t)["a table"]
	end := len(stream)
	for bit := range 8 * end {
		stream[bit/8] ^= 1 << (bit % 8)
		if consume(stream) == nil {
			t.Fatalf("bit %d of byte %d of %d was not noticed", bit%8, bit/8, end)
		}
		stream[bit/8] ^= 1 << (bit % 8)
	}
}

// TestWithoutSeal reads streams as version 1 wrote them.
func TestWithoutSeal(t *testing.T) {
	for name, stream := range sealedStreams(t) {
		if err := consume(unsealed(t, stream)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAfterTheSeal refuses what comes between the seal and the end.
func TestAfterTheSeal(t *testing.T) {
	b := randomBatch(seeded(7), 8, event.BaseCols, 3)
	stream := encode(t, testHeader(event.BaseCols), b)
	seal := stream[len(unsealed(t, stream))-8 : len(stream)-8]
	twice := slices.Concat(stream[:len(stream)-8], seal, stream[len(stream)-8:])
	if err := consume(twice); err == nil || !strings.Contains(err.Error(), "follows its seal") {
		t.Error(err)
	}
}

// TestWarningsTravel sends warnings at the end of a stream.
func TestWarningsTravel(t *testing.T) {
	want := []string{"rank 0 has no benchmark segment", "a \"quoted\" one ☃"}
	var out bytes.Buffer
	w := NewWriter(&out, testHeader(event.BaseCols))
	w.Warn(want)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := openEvents(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != io.EOF || !reflect.DeepEqual(r.Warnings(), want) {
		t.Errorf("%v, warnings %q", err, r.Warnings())
	}
}
