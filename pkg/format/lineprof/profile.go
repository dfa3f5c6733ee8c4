package lineprof

// Format names what an input was recognised as.
type Format string

const (
	Text      Format = "line_profiler"  // the tables that line_profiler prints
	Pickle    Format = "lprof"          // its pickled LineStats
	Timer     Format = "function_timer" // TensorRT-LLM's table for compiled functions, alone
	Collapsed Format = "collapsed"      // stacks, frames joined by ";", and a number of samples
	Speed     Format = "speedscope"     // speedscope's JSON
)

// A Profile is what one input held. Nothing in it refers to the input's bytes.
type Profile struct {
	Name   string // base name of the input, "" for standard input
	Format Format // by its content

	// Unit is what a Time of 1 stands for, in seconds: of the last run where runs
	// differ, 0 where the input has no times in units.
	Unit         float64
	UnitInferred bool // no line said so: Unit is from the shares and totals

	// Functions are in the order of the input. A profile that was taken, but in
	// which nothing ran, has functions of no time or none: that is no error.
	Functions []*Function
	Runs      int      // runs that the input holds one after another, at least 1
	Warnings  []string // what was inferred, left out, or cannot be trusted
}

// Total is the sum of the functions' times in ns. Functions that call each other
// count twice in it.
func (p *Profile) Total() int64 {
	var sum int64
	for _, f := range p.Functions {
		sum = Add(sum, f.Ns)
	}
	return sum
}

// A Function is one profiled function of one run.
type Function struct {
	// Name is the function's own name ("forward") or, as line_profiler 5 on Python
	// 3.11 and later writes it, the qualified one ("Attention.forward"). It is ""
	// where the table lost it, as those whose file was not found do.
	Name string
	File string // reduced path: from the package's root, or the base name; "" not known
	Line int    // first line in File, 0 not known
	Run  int    // which of the input's runs, from 0

	Ns     int64 // total time in ns, callees included
	SelfNs int64 // time in the function's own frames, of stacks; -1 not known
	Calls  int64 // calls, of function totals; -1 not known: see Entries

	// Lines are the function's lines in order, those that never ran included. A
	// function known by its total alone has none.
	Lines []Line

	// Callers are the functions of which samples have this one right below, for
	// stacks; nil for everything else.
	Callers []*Function

	path string // as it was written, to find the source; never to be printed
}

// Entries is how often the function was entered: its calls, or the hits of the first
// line that ran. It is 0 where it never was, or where nothing says.
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

// Exactness says how a line's time was come by.
type Exactness uint8

const (
	NoTime    Exactness = iota // the line never ran, or nothing was recorded: Ns is 0 and means nothing
	Exact                      // whole units
	Rounded                    // a printed number: right to half its last digit
	FromShare                  // the printed share of the function's total: right to 0.05 % of that
)

// A Line is one line of a function.
type Line struct {
	Number int       // in its file, from 1
	Hits   int64     // executions, 0 where it never ran; see Time
	Ns     int64     // time in ns, what the line calls included
	Time   Exactness // how Ns was come by
	Source string    // as written, indented, without the line's end; "" not known
}

// most is the largest time, in ns 73 years, and the largest number of hits or calls that
// there is: float64 holds it, and the sum of two is no overflow.
const most = 1 << 61

// Add adds two times or counts of a profile, and stays at the largest that there is.
func Add(a, b int64) int64 { return min(a+b, most) }
