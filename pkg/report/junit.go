package report

import (
	"encoding/xml"
	"fmt"
	"io"
)

// Test is a check that an analysis made, for programs that show test results.
type Test struct {
	// Name is what was checked.
	Name string
	// Failure says why the check failed, Trouble why it could not be made, Skipped why
	// there is nothing to check yet. At most one is not empty.
	Failure, Trouble, Skipped string
}

// JUnit writes checks as JUnit XML for continuous integration: one suite with the given
// name, without times. Names are made printable.
func JUnit(w io.Writer, suite string, tests []Test) error {
	type problem struct {
		Message string `xml:"message,attr"`
	}
	type testcase struct {
		Suite   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Failure *problem `xml:"failure"`
		Error   *problem `xml:"error"`
		Skipped *problem `xml:"skipped"`
	}
	type testsuite struct {
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr,omitempty"`
		Cases    []testcase `xml:"testcase"`
	}
	s := testsuite{Name: suite, Tests: len(tests)}
	for _, t := range tests {
		c := testcase{Suite: suite, Name: printable(t.Name)}
		switch {
		case t.Failure != "":
			c.Failure = &problem{printable(t.Failure)}
			s.Failures++
		case t.Trouble != "":
			c.Error = &problem{printable(t.Trouble)}
			s.Errors++
		case t.Skipped != "":
			c.Skipped = &problem{printable(t.Skipped)}
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	text, err := xml.MarshalIndent(struct {
		XMLName xml.Name    `xml:"testsuites"`
		Suites  []testsuite `xml:"testsuite"`
	}{Suites: []testsuite{s}}, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}
