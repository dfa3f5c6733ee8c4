package report

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ofRank matches a rank's name in a warning.
var ofRank = regexp.MustCompile(`\brank [0-9]+\b`)

// OneForAllRanks combines warnings that differ only in the rank, in the place of the
// first.
func OneForAllRanks(warnings []string) []string {
	of := map[string][]int{} // ranks by the text without them
	key := func(w string) string { return ofRank.ReplaceAllLiteralString(w, "rank #") }
	for _, w := range warnings {
		if at := ofRank.FindAllString(w, -1); len(at) == 1 {
			rank, _ := strconv.Atoi(strings.TrimPrefix(at[0], "rank "))
			of[key(w)] = append(of[key(w)], rank)
		}
	}
	kept, said := []string{}, map[string]bool{}
	for _, w := range warnings {
		ranks := of[key(w)]
		switch {
		case len(ranks) < 2:
			kept = append(kept, w)
		case !said[key(w)]:
			said[key(w)] = true
			kept = append(kept, fmt.Sprintf("%s (likewise rank%s)", w, Numbered(ranks[1:])))
		}
	}
	return kept
}

// Numbered lists numbers to follow a noun, consecutive ones as a range, with a plural s
// if there are several.
func Numbered[N int | int32](n []N) string {
	var parts []string
	for i := 0; i < len(n); {
		j := i + 1
		for j < len(n) && n[j] == n[j-1]+1 {
			j++
		}
		if parts = append(parts, strconv.Itoa(int(n[i]))); j-i > 1 {
			parts[len(parts)-1] += fmt.Sprintf(" to %d", n[j-1])
		}
		i = j
	}
	plural := " "
	if len(n) > 1 {
		plural = "s "
	}
	return plural + strings.Join(parts, ", ")
}
