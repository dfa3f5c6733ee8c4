package metric

import (
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

func TestNCCLNames(t *testing.T) {
	names := map[string]bool{
		"ncclDevKernel_AllGather": true, "my_NCCL_kernel": true, "xnccl": true, "nccl": true, "NcCl2": true,
		"ncc": false, "ncc_l": false, "": false, "gemm": false, "nnccll": true, "cccl::reduce": false,
	}
	first := &event.Strings{Offsets: []int32{0}, Dict: &event.Dict{Offsets: []int32{0}}}
	second := &event.Strings{Offsets: []int32{0}, Dict: &event.Dict{Offsets: []int32{0}}}
	plain := &event.Strings{}
	var want []bool
	for text, is := range names {
		want = append(want, is)
		plain.Append(text)
		first.Codes = append(first.Codes, int32(len(first.Codes)))
		first.Dict.Data = append(first.Dict.Data, text...)
		first.Dict.Offsets = append(first.Dict.Offsets, int32(len(first.Dict.Data)))
		second.Append(text) // of its own, in a column with a Dict
	}
	var n event.Memo[bool]
	for range 2 { // as well when they are known
		for i, is := range want {
			for _, names := range []*event.Strings{plain, first, second} {
				if n.Of(names, i, isNCCL) != is {
					t.Errorf("%q: %v instead of %v", names.Get(i), !is, is)
				}
			}
		}
	}
}
