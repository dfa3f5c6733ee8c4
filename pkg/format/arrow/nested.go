package arrow

import (
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
)

var errOffsets = errors.New("damaged stream: the offsets of a nested column lie outside of it")

// checkNested checks the offsets of lists at any depth of an array. Arrow's library
// does not, and allocates as much memory as they claim to span.
func checkNested(arr arrow.Array) error {
	switch a := arr.(type) {
	case *array.List:
		return checkList(a.Len(), a.Offsets(), a.Data().Offset(), a.ListValues())
	case *array.Map:
		return checkList(a.Len(), a.Offsets(), a.Data().Offset(), a.ListValues())
	case *array.LargeList:
		return checkList(a.Len(), a.Offsets(), a.Data().Offset(), a.ListValues())
	case *array.FixedSizeList:
		width := int64(a.DataType().(*arrow.FixedSizeListType).Len())
		if width < 0 || (int64(a.Data().Offset())+int64(a.Len()))*width > int64(a.ListValues().Len()) {
			return errOffsets
		}
		return checkNested(a.ListValues())
	case *array.Struct:
		for i := range a.NumField() {
			if err := checkNested(a.Field(i)); err != nil {
				return err
			}
		}
	case *array.Dictionary:
		return checkNested(a.Dictionary())
	case array.ExtensionArray:
		return checkNested(a.Storage())
	case array.ListLike, array.Union, *array.RunEndEncoded:
		return fmt.Errorf("a column of type %s is not supported", arr.DataType())
	}
	return nil
}

// checkList checks the offsets of n lists, beginning with list first.
func checkList[T int32 | int64](n int, offsets []T, first int, values arrow.Array) error {
	if n == 0 {
		return checkNested(values)
	}
	if len(offsets) < first+n+1 {
		return errOffsets
	}
	offsets = offsets[first : first+n+1]
	for i := range n {
		if offsets[i] < 0 || offsets[i] > offsets[i+1] {
			return errOffsets
		}
	}
	if int64(offsets[n]) > int64(values.Len()) {
		return errOffsets
	}
	return checkNested(values)
}
