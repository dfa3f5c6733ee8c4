package arrow_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"

	"github.com/hostbound/hostbound/pkg/format/arrow"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// longKernels is a whole filter: it passes on the kernels of at least so many ns, with all
// rows that are no kernels. As a program it is longKernels(os.Stdin, os.Stdout, …) between
// two others of the pipe. A checkpoint is read in the same way, with checkpoint.Open in
// place of arrow.Open: both are an event.Source.
func longKernels(r io.Reader, w io.Writer, ns int64) error {
	in, _, err := arrow.Open(r)
	if err != nil {
		return err
	}
	if in == nil {
		return errors.New("a table, where events are wanted")
	}
	out := arrow.NewWriter(w, in.Header())
	var kept event.Batch
	var rows []int32
	for {
		b, err := in.Next() // valid until the next call
		if err == io.EOF {
			break // the end was there, and checked: an input that was cut short is an error
		} else if err != nil {
			return err
		}
		rows = rows[:0]
		for i := range b.Len {
			if b.Kind.Values[i] != event.Kernel || b.End.Values[i]-b.Start.Values[i] >= ns {
				rows = append(rows, int32(i))
			}
		}
		kept.Reset(b.Columns)
		kept.AppendRows(b, rows)
		if err := out.Write(&kept); err != nil {
			return err
		}
	}
	out.Warn(in.Warnings())
	return out.Close() // which seals the stream: only after success
}

func Example() {
	var piped, filtered bytes.Buffer
	w := arrow.NewWriter(&piped, &event.Header{Stage: "example", Columns: event.BaseCols})
	var b event.Batch
	b.Reset(event.BaseCols)
	for i, ns := range []int64{900, 12000, 300} {
		row := b.AppendNulls()
		b.Kind.Values[row] = event.Kernel
		b.Start.Values[row], b.End.Values[row] = int64(i)*20000, int64(i)*20000+ns
		b.Name.Append("gemm")
	}
	if err := errors.Join(w.Write(&b), w.Close()); err != nil {
		log.Fatal(err)
	}
	if err := longKernels(&piped, &filtered, 1000); err != nil {
		log.Fatal(err)
	}
	r, _, err := arrow.Open(&filtered)
	if err != nil {
		log.Fatal(err)
	}
	for {
		b, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		for i := range b.Len {
			fmt.Printf("%s of %d ns\n", b.Name.Get(i), b.End.Values[i]-b.Start.Values[i])
		}
	}
	// Output: gemm of 12000 ns
}
