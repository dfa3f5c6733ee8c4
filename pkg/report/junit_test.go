package report

import (
	"encoding/xml"
	"strings"
	"testing"
)

// TestJUnit reads back what hostile names became.
func TestJUnit(t *testing.T) {
	hostile := "<a b=\"c\">&\x1b[31m\x00]]>\xff\u202e\u009b"
	var b strings.Builder
	err := JUnit(&b, "suite", []Test{{Name: "good"}, {Name: hostile, Failure: hostile}, {Name: "open", Trouble: "too few"}, {Name: "later", Skipped: "first run"}})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Suites []struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Errors   int `xml:"errors,attr"`
			Skipped  int `xml:"skipped,attr"`
			Cases    []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
				} `xml:"failure"`
				Error   *struct{} `xml:"error"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	s := got.Suites[0]
	if s.Tests != 4 || s.Failures != 1 || s.Errors != 1 || s.Skipped != 1 || len(s.Cases) != 4 {
		t.Errorf("counts: %+v", s)
	}
	if s.Cases[0].Failure != nil || s.Cases[0].Error != nil || s.Cases[2].Error == nil || s.Cases[3].Skipped == nil || s.Cases[3].Error != nil {
		t.Errorf("outcomes: %+v", s.Cases)
	}
	want := "<a b=\"c\">&\ufffd[31m\ufffd]]>\ufffd\ufffd\ufffd"
	if s.Cases[1].Name != want || s.Cases[1].Failure == nil || s.Cases[1].Failure.Message != want {
		t.Errorf("hostile names became %+v", s.Cases[1])
	}
}
