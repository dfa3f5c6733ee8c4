package hotspot_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/format/lineprof"
	"github.com/hostbound/hostbound/pkg/hotspot"
)

// labelled is one line of testdata/lines-*.txt that has a label.
type labelled struct {
	file    string // of testdata, and the line's number there
	fn      *lineprof.Function
	index   int // of fn.Lines
	options hotspot.Options
	want    []hotspot.Type // the first is right, the others are not wrong
	why     string
}

// critical are the types that send an engineer to change how kernels are launched.
var critical = []hotspot.Type{hotspot.HostSync, hotspot.Sync, hotspot.CustomOp}

var allTypes = []hotspot.Type{
	hotspot.HostSync, hotspot.Sync, hotspot.CustomOp, hotspot.GraphBreak, hotspot.Alloc, hotspot.Hoist,
	hotspot.PyLoop, hotspot.RedundantIter, hotspot.DeadWork, hotspot.Container, hotspot.FuncCall,
	hotspot.Comm, hotspot.GIL, hotspot.Serialize, hotspot.GC, hotspot.Compute,
}

// TestLabelledLines classifies lines whose kind of waste is known, prints a
// confusion matrix, and asks for 92 % in each file, and for no critical type that is
// claimed with high confidence and wrong.
func TestLabelledLines(t *testing.T) {
	files, err := filepath.Glob("testdata/lines-*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no labelled lines", err)
	}
	var all []labelled
	for _, file := range files {
		lines := readLabelled(t, file)
		t.Run(filepath.Base(file), func(t *testing.T) { score(t, lines) })
		all = append(all, lines...)
	}
	perType := map[hotspot.Type]int{}
	for _, l := range all {
		perType[l.want[0]]++
	}
	for _, typ := range allTypes {
		if len(files) > 1 && perType[typ] < 12 {
			t.Errorf("%d lines are labelled %s, want 12", perType[typ], typ)
		}
	}
}

func score(t *testing.T, lines []labelled) {
	confusion := map[[2]hotspot.Type]int{}
	right := 0
	for _, l := range lines {
		got := hotspot.Classify(l.fn, l.index, l.options)
		confusion[[2]hotspot.Type{l.want[0], got.Type}]++
		if slices.Contains(l.want, got.Type) {
			right++
			continue
		}
		source := strings.TrimSpace(l.fn.Lines[l.index].Source)
		t.Logf("%s: %s (%s), want %s: %s [%s]", l.file, got.Type, got.Confidence, l.want[0], source, l.why)
		if got.Confidence == "high" && slices.Contains(critical, got.Type) {
			t.Errorf("%s: %s is claimed with high confidence, and is wrong: %s", l.file, got.Type, source)
		}
	}
	t.Log("\n" + matrix(confusion))
	t.Logf("%d of %d right: %.1f %%", right, len(lines), 100*float64(right)/float64(len(lines)))
	if 100*right < 92*len(lines) {
		t.Errorf("%d of %d right, want 92 %%", right, len(lines))
	}
}

// matrix is the table of how often a type, down, was classified as another, across.
func matrix(confusion map[[2]hotspot.Type]int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-15s", "is \\ got")
	for _, got := range allTypes {
		fmt.Fprintf(&b, "%5.4s", got)
	}
	b.WriteString("  recall\n")
	for _, is := range allTypes {
		fmt.Fprintf(&b, "%-15s", is)
		sum := 0
		for _, got := range allTypes {
			n := confusion[[2]hotspot.Type{is, got}]
			sum += n
			if n == 0 {
				fmt.Fprintf(&b, "%5s", ".")
				continue
			}
			fmt.Fprintf(&b, "%5d", n)
		}
		fmt.Fprintf(&b, "%7.0f%%\n", 100*float64(confusion[[2]hotspot.Type{is, is}])/float64(max(sum, 1)))
	}
	return b.String()
}

// readLabelled reads a file in the format that lines-visible.txt states at its top.
func readLabelled(t *testing.T, path string) []labelled {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []labelled
	var options hotspot.Options
	var fn *lineprof.Function
	number := 0
	for in := bufio.NewScanner(f); in.Scan(); {
		number++
		text, place := in.Text(), fmt.Sprintf("%s:%d", filepath.Base(path), number)
		words := strings.Fields(text)
		switch {
		case text == "" || text[0] == '#':
		case words[0] == "profile":
			options = hotspot.Options{Steps: mustInt(t, place, words[2]), Layers: int(mustInt(t, place, words[3]))}
		case words[0] == "function":
			fn = &lineprof.Function{Name: words[1], File: words[2], Line: int(mustInt(t, place, words[3])), SelfNs: -1, Calls: -1}
		default:
			labels, why := addLine(t, place, fn, text)
			if labels == "" {
				continue
			}
			l := labelled{file: place, fn: fn, index: len(fn.Lines) - 1, options: options, why: why}
			for label := range strings.SplitSeq(labels, "/") {
				if !slices.Contains(allTypes, hotspot.Type(label)) {
					t.Fatalf("%s: no type %s", place, label)
				}
				l.want = append(l.want, hotspot.Type(label))
			}
			lines = append(lines, l)
		}
	}
	return lines
}

// addLine adds a line to the function and returns its labels and their reason.
func addLine(t *testing.T, place string, fn *lineprof.Function, text string) (labels, why string) {
	t.Helper()
	fields := strings.SplitN(text, "|", 5)
	if len(fields) != 5 {
		t.Fatalf("%s: want HITS|US|LABEL|WHY|SOURCE", place)
	}
	line := lineprof.Line{Number: fn.Line + len(fn.Lines), Source: fields[4]}
	if fields[0] != "" {
		us, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			t.Fatalf("%s: %v", place, err)
		}
		line.Hits = mustInt(t, place, fields[0])
		line.Ns = int64(us * 1000 * float64(line.Hits))
		line.Time = lineprof.Exact
		fn.Ns += line.Ns
	}
	fn.Lines = append(fn.Lines, line)
	return fields[2], fields[3]
}

func mustInt(t *testing.T, place, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", place, err)
	}
	return n
}
