package round

import "strings"

// normalised is a line's source without comments, indentation and runs of blanks, by
// which lines are matched. Strings stay as they are.
func normalised(source string) string {
	code, _ := split(source)
	return code
}

// skeleton is a line's source without what stands in strings, in which the words of
// the code can be searched.
func skeleton(source string) string {
	_, bare := split(source)
	return bare
}

// split cuts a line's comment off and folds blanks outside of strings; bare is the
// same with empty strings. A string that goes on in the next line ends here. It takes no
// notice of prefixes (r"", f"") and of triple quotes, whose first two are an empty string:
// lines are compared with each other, and both are cut in the same way.
func split(source string) (code, bare string) {
	var c, b strings.Builder
	quote := byte(0)
	blank := false
	for i := 0; i < len(source); i++ {
		ch := source[i]
		if quote != 0 {
			c.WriteByte(ch)
			switch {
			case ch == '\\' && i+1 < len(source):
				i++
				c.WriteByte(source[i])
			case ch == quote:
				quote = 0
				b.WriteByte(ch)
			}
			continue
		}
		switch ch {
		case '#':
			return c.String(), b.String()
		case ' ', '\t', '\r', '\f':
			blank = c.Len() > 0
			continue
		case '"', '\'':
			quote = ch
		}
		if blank {
			c.WriteByte(' ')
			b.WriteByte(' ')
			blank = false
		}
		c.WriteByte(ch)
		b.WriteByte(ch)
	}
	return c.String(), b.String()
}
