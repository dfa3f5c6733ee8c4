package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostbound/hostbound/pkg/cli"
	commands "github.com/hostbound/hostbound/pkg/cli/command"
)

// TestMain is the server where a test starts this binary as one.
func TestMain(m *testing.M) {
	if os.Getenv("HOSTBOUND_TEST_SERVE") != "" {
		main()
	}
	os.Exit(m.Run())
}

const trace = "../../testdata/llama_tp2.sqlite"

// started is a session with a server in a process of its own, which the library's client starts.
func started(t *testing.T) *mcp.ClientSession {
	t.Helper()
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), "HOSTBOUND_TEST_SERVE=1")
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: server}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// ask calls a tool and returns the text of the answer.
func ask(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (text string, result *mcp.CallToolResult) {
	t.Helper()
	result, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}
	}
	return result.Content[0].(*mcp.TextContent).Text, result
}

// TestTools has the four tools answer in the words of the commands, in text and as a structure.
func TestTools(t *testing.T) {
	s := started(t)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if tool.OutputSchema == nil || tool.InputSchema == nil || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s has no schema, or may change something", tool.Name)
		}
	}
	if slices.Sort(names); !slices.Equal(names, []string{"diff", "gaps", "verdict", "whatif"}) {
		t.Errorf("tools %q", names)
	}
	one := []string{trace}
	for _, c := range []struct {
		cmd  *cli.Command
		tool map[string]any
		args []string
	}{
		{&commands.Verdict, map[string]any{"files": one}, one},
		{&commands.Gaps, map[string]any{"files": one}, one},
		{&commands.Diff, map[string]any{"baseline": one, "target": one}, []string{trace, trace}},
		{&commands.Whatif, map[string]any{"files": one}, one},
		{&commands.Whatif, map[string]any{"files": one, "range": []string{"_prepare_inputs=0"}, "no_wait": []string{"cudaEventSynchronize"}},
			[]string{"--range", "_prepare_inputs=0", "--no-wait", "cudaEventSynchronize", trace}},
	} {
		var want, complaints bytes.Buffer
		if cli.Run(c.cmd, append(c.args, "--brief"), strings.NewReader(""), &want, &complaints) != 0 {
			t.Fatal(complaints.String())
		}
		got, result := ask(t, s, c.cmd.Name, c.tool)
		if got != want.String() || result.IsError {
			t.Errorf("%s answers\n%s\nand the command\n%s", c.cmd.Name, got, want.String())
		}
		var from, as bytes.Buffer
		structured, err := json.Marshal(result.StructuredContent)
		if err != nil || json.Compact(&from, want.Bytes()) != nil || json.Compact(&as, structured) != nil || !same(t, from.Bytes(), as.Bytes()) {
			t.Errorf("%s has another structure than text: %s", c.cmd.Name, structured)
		}
		if complained := strings.TrimSpace(complaints.String()); complained != "" && result.Content[1].(*mcp.TextContent).Text != complained {
			t.Errorf("%s does not say %q", c.cmd.Name, complained)
		}
	}
}

// same reports whether two JSON texts are of one value.
func same(t *testing.T, a, b []byte) bool {
	t.Helper()
	var texts [2][]byte
	for i, text := range [][]byte{a, b} {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		texts[i], _ = json.Marshal(v)
	}
	return bytes.Equal(texts[0], texts[1])
}

// TestToolsRefuse: what is no file of a trace is an error of one line with a hint, and the server
// goes on.
func TestToolsRefuse(t *testing.T) {
	s := started(t)
	text := filepath.Join(t.TempDir(), "notes, of mine.txt")
	if err := os.WriteFile(text, []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"verdict", map[string]any{"files": []string{}}, "no files"},
		{"verdict", map[string]any{"files": []string{"-"}}, "-: no such file"},
		{"verdict", map[string]any{"files": []string{"--output=/tmp/x"}}, "--output=/tmp/x: no such file"},
		{"gaps", map[string]any{"files": []string{"/dev/zero"}}, "/dev/zero: not a file"},
		{"gaps", map[string]any{"files": []string{filepath.Dir(text)}}, "not a file"},
		{"gaps", map[string]any{"files": []string{text}}, "gaps: hint: "},
		{"diff", map[string]any{"baseline": []string{trace}, "target": []string{}}, "no files"},
		{"diff", map[string]any{"baseline": []string{trace, text}, "target": []string{trace}}, "comma"},
		{"diff", map[string]any{"baseline": []string{"*.sqlite"}, "target": []string{trace}}, "no such file"},
		{"whatif", map[string]any{"files": []string{trace}, "range": []string{"a=b"}}, "whatif: error: --range"},
		{"whatif", map[string]any{"files": []string{trace}, "output": "/tmp/x"}, "output"},
		{"verdict", map[string]any{"files": trace}, "files"},
	} {
		got, result := ask(t, s, c.tool, c.args)
		if got == "" {
			got = result.Content[0].(*mcp.TextContent).Text
		}
		if !result.IsError || !strings.Contains(got, c.want) || strings.Contains(strings.TrimSpace(got), "\n") {
			t.Errorf("%s %v: %q", c.tool, c.args, got)
		}
	}
	if got, result := ask(t, s, "verdict", map[string]any{"files": []string{trace}}); result.IsError {
		t.Error(got)
	}
}

// TestLibraryStaysHere: the other commands have none of the code for HTTP and authorisation.
func TestLibraryStaysHere(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "../verdict", "../hostbound").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.Lines(string(out)) {
		for _, foreign := range []string{"modelcontextprotocol", "oauth", "net/http", "crypto/tls"} {
			if strings.Contains(pkg, foreign) {
				t.Errorf("the other commands import %s", pkg)
			}
		}
	}
}
