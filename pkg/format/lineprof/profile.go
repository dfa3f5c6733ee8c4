package lineprof

// Format is the recognised format of an input.
type Format string

const (
	Text      Format = "line_profiler"  // tables printed by line_profiler
	Pickle    Format = "lprof"          // line_profiler's pickled LineStats
	Timer     Format = "function_timer" // TensorRT-LLM's table of compiled functions, without line_profiler's
	Collapsed Format = "collapsed"      // stacks with frames joined by ";", and a number of samples
	Speed     Format = "speedscope"     // speedscope's JSON
)

// A Profile is the content of one input. It shares no memory with the input.
type Profile struct {
	Name   string // base name of the input, "" for standard input
	Format Format // as recognised by content

	// Unit is the input's unit of time, in seconds: that of the last run if runs
	// differ, 0 if the input has no unit.
	Unit         float64
	UnitInferred bool // Unit is not stated but inferred from shares and totals

	// Functions are in input order. In a profile in which nothing ran, they have no
	// time or are missing; that is no error.
	Functions []*Function
	Runs      int      // consecutive runs in the input, at least 1
	Warnings  []string // what was inferred, left out or cannot be trusted
}

// Total returns the sum of the functions' times in ns, saturated. Functions that call
// each other count twice.
func (p *Profile) Total() int64 {
	var sum int64
	for _, f := range p.Functions {
		sum = Add(sum, f.Ns)
	}
	return sum
}

// A Function is one profiled function of one run.
type Function struct {
	// Name is the function's own name ("forward") or, from line_profiler 5 on Python
	// 3.11 and later, the qualified one ("Attention.forward"). It is "" if the table
	// lost it, as when the source file was not found.
	Name string
	File string // reduced path: from the package's root, or the base name; "" if unknown
	Line int    // first line in File, 0 if unknown
	Run  int    // run of the input, from 0

	Ns     int64 // total time in ns, including callees
	SelfNs int64 // time in its own frames in ns, for stacks; -1 if unknown
	Calls  int64 // number of calls, for function totals; -1 if unknown: see Entries

	// Lines are the function's lines in order, including those that never ran; nil if
	// only the total is known.
	Lines []Line

	// Callers are the functions that directly call this one in some sample, for stacks;
	// nil otherwise.
	Callers []*Function

	path string // as in the input, to find the source; must never be printed
}

// Entries returns how often the function was entered: its calls, or the hits of the
// first line that ran. It is 0 if it never was, or if that is unknown.
func (f *Function) Entries() int64 {
	if f.Calls >= 0 {
		return f.Calls
	}
	for _, l := range f.Lines {
		if l.Hits > 0 {
			return l.Hits
		}
	}
	return 0
}

// Exactness is how accurate a line's time is.
type Exactness uint8

const (
	NoTime    Exactness = iota // the line never ran, or no time was recorded: Ns is 0 and meaningless
	Exact                      // in whole units
	Rounded                    // a printed number: accurate to half its last digit
	FromShare                  // from the printed share of the function's total: accurate to 0.05 % of that
)

// A Line is one line of a function.
type Line struct {
	Number int       // in its file, from 1
	Hits   int64     // executions, 0 if it never ran
	Ns     int64     // time in ns, including what the line calls
	Time   Exactness // accuracy of Ns
	Source string    // as written, indented, without line end; "" if unknown
}

// most is the largest time (in ns, 73 years) and the largest number of hits or calls.
// float64 represents it exactly, and the sum of two does not overflow.
const most = 1 << 61

// Add returns the sum of two times or counts, saturated at most.
func Add(a, b int64) int64 { return min(a+b, most) }
