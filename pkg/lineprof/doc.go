// Package lineprof reads profiles of Python code.
package lineprof
