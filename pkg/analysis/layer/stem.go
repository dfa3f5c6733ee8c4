package layer

import "strings"

// Stem returns what is compared of a kernel's name.
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
