package layer

import "strings"

// Stem reduces a kernel's name to what is compared. For a gemm that is its class.
// Otherwise it is the class and the words of the name, in lower case, up to the first
// number after the first word.
func Stem(class, name string) string {
	if class == "gemm" {
		return class
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == ' ' || r == ':' || r == '<' })
	var stem strings.Builder
	stem.WriteString(class)
	for i, word := range words {
		letters := word
		if k := strings.IndexAny(word, "0123456789"); k >= 0 {
			letters = word[:k]
		}
		if letters != "" {
			stem.WriteByte(' ')
			stem.WriteString(strings.ToLower(letters))
		}
		if letters != word && i > 0 {
			break
		}
	}
	return stem.String()
}
