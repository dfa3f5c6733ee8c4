package lineprof_test

import (
	"fmt"
	"strings"

	"github.com/hostbound/hostbound/pkg/format/lineprof"
)

func ExampleRead() {
	const text = `Timer unit: 1e-09 s

Total time: 60 s
File: /home/someone/work/tensorrt_llm/_torch/pyexecutor/py_executor.py
Function: _forward_step at line 2840

Line #      Hits         Time  Per Hit   % Time  Line Contents
==============================================================
  2840                                           def _forward_step(self, batch):
  2848      4100        6e+10    1e+07     98.7      outputs = self.model_engine.forward(batch)
`
	p, err := lineprof.Read("profile.txt", strings.NewReader(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	f := p.Functions[0]
	fmt.Println(f.Name, f.File, f.Line)
	for _, l := range f.Lines {
		fmt.Println(l.Number, l.Hits, l.Ns, l.Time == lineprof.FromShare)
	}
	// Output:
	// _forward_step tensorrt_llm/_torch/pyexecutor/py_executor.py 2840
	// 2840 0 0 false
	// 2848 4100 59220000000 true
}
