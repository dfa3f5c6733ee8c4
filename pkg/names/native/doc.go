// Package native says what native code is from its name: calls of the operating system
// by class (osname.go), functions and modules in stacks by family (symbol.go).
package native
