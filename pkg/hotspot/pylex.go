// Pylex reads Python source as far as what a line does can be told from it:
// tokens, statements over several lines, calls with their receivers, loops.
//
// It is exact about what is code and what is not: strings of every kind and prefix,
// nested expressions of f-strings, comments, continued lines. It reads fragments:
// profiles hold functions, often cut, of any version of Python, and an unfinished string
// or bracket is no error. It does not parse statements into a tree, nor check them.
//
// # Why our own
//
// Measured against github.com/alecthomas/chroma v2.27, whose Python lexer is good: 0.3
// MB/s and 4.4 MB more of each binary, for tokens made to be coloured; calls, receivers
// and continued lines would be our own on top of it. A profile has 100 MB at times.
// github.com/go-python/gpython wants whole files in the syntax of 3.4, and what
// tree-sitter gives takes a C compiler.

package hotspot
