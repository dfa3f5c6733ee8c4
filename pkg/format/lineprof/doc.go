// Package lineprof reads profiles of Python code: line_profiler's printed and pickled
// output, and the stacks of sampling profilers. Formats are recognised by content.
//
// # Tables of line_profiler
//
// Its text is a line "Timer unit: 1e-09 s", then a block for each function:
//
//	Total time: 0.0712444 s
//	File: /srv/app/attn.py
//	Function: forward at line 31
//
//	Line #      Hits         Time  Per Hit   % Time  Line Contents
//	==============================================================
//	    34        32      54830.0   1713.4      0.1          B, N, C = x.shape
//	    35        32     4.15e+07   1.3e+06    58.3          qkv = self.qkv(x)
//	    37
//
// The total is always in seconds, with six digits. Widths are minima: a longer number
// moves the rest of its row (until 4.0) or widens the table (from 4.1), so rows are split
// at blanks. The source follows the fifth field after two blanks; in a row without
// figures it begins where the header's "Line Contents" does. From 4.1 on, numbers that
// outgrow their column are printed with one digit (from 5.0 three). These are the hottest
// lines of all, so their time is computed from their share of the total, which has three
// digits. The same holds if the unit is more than a tenth of the function's total, as
// times have one decimal. The share is blank if a function took no time.
//
// All of these are read:
//
//   - the three lines ahead of the table in any order, the rule of "=", "-" and blanks;
//   - tables indented, quoted or commented out, with prose and log lines between, with
//     CRLF, with terminal colours, with trailing blanks stripped or added;
//   - tables without source, of files that were not there: the function's name is lost
//     in them, and is found again where a summary has it;
//   - the summary "  2.60 seconds - attn.py:31 - forward", of which functions without
//     a table are kept;
//   - no "Timer unit" (a log cut at its top): the unit is what makes shares and
//     times agree;
//   - several outputs in one file. Where a function comes a second time, a second run
//     begins;
//   - tables cut at their end, with a warning where more than a sixth of the time is
//     missing. A last row that stops short is left out;
//   - TensorRT-LLM's "Function Timer Results", totals of compiled functions.
//
// Columns that contradict each other (a time that is not hits × time per hit, or not the
// share of the total) are counted in a warning. Where only the time does not fit, the
// share is taken.
//
// # Pickles of line_profiler
//
// A .lprof file is one pickled LineStats: {(file, line, name): [(line, hits, time)]} and
// the unit. They are read by a machine that knows 31 opcodes of protocols 2 to 5, none
// of which calls anything: the only global that it accepts is one whose name is
// LineStats, and that becomes an empty record. Every length is compared with what is
// left of the file, and the numbers of values held at once and of memo entries are limited. There is
// no source in it: see [Profile.AddSource].
//
// # Stacks
//
// Collapsed stacks (frames joined by ";", a blank, a number) and speedscope's JSON
// become functions without lines: the time with the function anywhere on the stack,
// the time in its own frame, and its callers. Numbers without a unit are samples: they
// count as 10 ms each, the default of py-spy, and a warning says so.
//
// # Privacy
//
// Paths name people and places. They are reduced to the part from the root of a
// package (after site-packages, or from a directory named as an engine is) or else to
// the base name. The source of private code is in [Line.Source]: what writes it out
// is asked for it.
package lineprof
