// Pylex parses Python source as far as needed to tell what a line does: tokens,
// statements over several lines, calls with their receivers, loops.
//
// It is exact about what is code: strings of every kind and prefix, nested expressions
// of f-strings, comments, continued lines. It accepts fragments: profiles hold
// functions, often cut, of any version of Python, and an unfinished string or bracket
// is no error. It builds no syntax tree, and does not check statements.
//
// # Why our own
//
// Measured against github.com/alecthomas/chroma v2.27, whose Python lexer is good: 0.3
// MB/s and 4.4 MB more in each binary, for tokens meant for colouring. Calls, receivers
// and continued lines would still be our own. A profile can have 100 MB.
// github.com/go-python/gpython requires whole files in the syntax of 3.4, and
// tree-sitter requires a C compiler.

package hotspot
