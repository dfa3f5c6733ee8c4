package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostbound/hostbound/pkg/cli"
	commands "github.com/hostbound/hostbound/pkg/cli/command"
)

// command is the server as a command. It is a separate program, so that the code for
// HTTP, TLS and authorisation in the protocol's library, which it never runs, is in no
// other program.
var command = cli.Command{
	Name:      "mcp",
	Installed: "hostbound-mcp",
	Summary:   "answer coding agents over the Model Context Protocol",
	Description: `Mcp serves four tools on standard input and output: verdict, gaps, diff and whatif.
Each takes the names of files on this machine and answers with what the command of that
name writes with --brief: JSON of at most 2 kB. It opens no connection, and reads no file
that it was not given.`,
	Examples: []string{
		"claude mcp add hostbound -- hostbound-mcp",
		"codex mcp add hostbound -- hostbound-mcp",
	},
	Run: serve,
}

// serve answers until standard input ends.
func serve(c *cli.Call) (int, error) {
	switch {
	case len(c.Files) > 0:
		return 0, cli.Misuse("no files are taken here: "+c.Files[0], "the agent names them with each question")
	case cli.IsTerminal(c.Stdin):
		return 0, cli.Misuse("standard input is a terminal", "an agent starts this program: 'mcp --help' shows how")
	}
	s, err := newServer()
	if err != nil {
		return 0, err
	}
	return 0, s.Run(c.Context, &mcp.StdioTransport{})
}

// files is the input of verdict and gaps.
type files struct {
	Files []string `json:"files" jsonschema:"the traces of one run, all ranks at once: exports of nsys (.sqlite), traces of PyTorch's profiler (.json, .json.gz) or databases of rocprofv3 (.db)"`
}

func (f files) args() ([]string, error) { return paths(f.Files) }

// sides is the input of diff.
type sides struct {
	Baseline []string `json:"baseline" jsonschema:"the traces of the run before the change, all ranks at once"`
	Target   []string `json:"target" jsonschema:"the traces of the run after it"`
}

func (s sides) args() (args []string, err error) {
	for _, side := range []struct {
		flag  string
		files []string
	}{{"--baseline=", s.Baseline}, {"--target=", s.Target}} {
		if _, err := paths(side.files); err != nil {
			return nil, err
		}
		if len(side.files) > 1 && slices.ContainsFunc(side.files, func(f string) bool { return strings.Contains(f, ",") }) {
			return nil, cli.Misuse("a name with a comma among those of several ranks", "rename the file")
		}
		args = append(args, side.flag+strings.Join(side.files, ","))
	}
	return args, nil
}

// changes is the input of whatif.
type changes struct {
	Files  []string `json:"files" jsonschema:"the traces of one run, all ranks at once"`
	Range  []string `json:"range,omitempty" jsonschema:"multiply the host time in NVTX ranges, each as GLOB=F: _prepare_inputs=0 takes it away, =0.5 halves it; without any change the answer is a table of what would help"`
	NoWait []string `json:"no_wait,omitempty" jsonschema:"CUDA calls whose waits to leave out, each as CALL or CALL@RANGE, both globs"`
}

func (c changes) args() ([]string, error) {
	args, err := paths(c.Files)
	for _, r := range c.Range {
		args = slices.Insert(args, 0, "--range="+r)
	}
	for _, w := range c.NoWait {
		args = slices.Insert(args, 0, "--no-wait="+w)
	}
	return args, err
}

// paths returns file names as a command's last arguments, whatever they begin with.
func paths(names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, cli.Misuse("no files", "name the traces of the run")
	}
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return nil, cli.Misuse(name+": no such file", "give the path of a trace on this machine, best from the root")
		case !info.Mode().IsRegular():
			return nil, cli.Misuse(name+": not a file", "give the path of a trace, and one for each rank")
		}
	}
	return append([]string{"--"}, names...), nil
}

// question is the input of a tool.
type question interface{ args() ([]string, error) }

// newServer makes the server with its tools.
func newServer() (*mcp.Server, error) {
	s := mcp.NewServer(&mcp.Implementation{Name: "hostbound", Title: "Is the host holding the GPUs back?", Version: cli.Version()}, &mcp.ServerOptions{
		Instructions: "For runs of LLM inference on GPUs that were recorded with Nsight Systems or PyTorch's profiler. Ask verdict first; on YES gaps, then whatif for what its first item would save; diff for two versions. Do not read a trace yourself: it has millions of rows.",
	})
	answer, _, err := printed(&commands.Verdict, "--schema", "--brief")
	if err != nil {
		return nil, err
	}
	one := &sync.Mutex{} // one answer at a time, since each may take half a GiB
	add[files](s, one, &commands.Verdict, "Does the host (CPU, Python, scheduling, synchronisation) hold the GPUs of this run back? YES, NO or INCONCLUSIVE, with the metrics over their limits.", answer)
	add[files](s, one, &commands.Gaps, "Where does the idle time of the GPUs of this run go, and what to change first?", answer)
	add[sides](s, one, &commands.Diff, "What costs more or less per step in the target than in the baseline, and is it more than noise?", answer)
	add[changes](s, one, &commands.Whatif, "What would a step take if some host work were faster, or some waits were gone? Replays the run.", answer)
	return s, nil
}

// add adds a tool that answers like a command with --brief, in the same words, followed
// by the warnings.
func add[Q question](s *mcp.Server, one *sync.Mutex, c *cli.Command, description string, answer json.RawMessage) {
	no := false
	tool := &mcp.Tool{Name: c.Name, Description: description, OutputSchema: answer, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &no}}
	mcp.AddTool(s, tool, func(_ context.Context, _ *mcp.CallToolRequest, q Q) (*mcp.CallToolResult, any, error) {
		args, err := q.args()
		if err != nil {
			return nil, nil, errors.New(withHint(c.Name, err))
		}
		one.Lock()
		defer one.Unlock()
		text, warnings, err := printed(c, append([]string{"--brief"}, args...)...)
		if err != nil {
			return nil, nil, err
		}
		said := []mcp.Content{&mcp.TextContent{Text: string(text)}}
		if warnings != "" {
			said = append(said, &mcp.TextContent{Text: warnings})
		}
		return &mcp.CallToolResult{Content: said}, text, nil
	})
}

// printed returns what a command prints and its warnings, or its errors as one line.
func printed(c *cli.Command, args ...string) (text json.RawMessage, warnings string, err error) {
	var out, errs bytes.Buffer
	status := cli.Run(c, args, strings.NewReader(""), &out, &errs)
	said := strings.TrimSpace(errs.String())
	if status != 0 {
		return nil, "", errors.New(strings.ReplaceAll(said, "\n", "; "))
	}
	return out.Bytes(), said, nil
}

// withHint returns the error of a question as one line, in the form of a command's
// errors.
func withHint(name string, err error) string {
	text := name + ": error: " + err.Error()
	if advice := (*cli.UsageError)(nil); errors.As(err, &advice) {
		text += "; " + name + ": hint: " + advice.Advice
	}
	return text
}
