package cmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// browser is a Chromium that does as it is told, by the protocol of its developer tools,
// of which each message ends with a zero byte.
type browser struct {
	to      *os.File
	from    *bufio.Reader
	session string
	calls   int
	said    []string // on the console
}

// message is what a browser is told or says.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// openBrowser starts a Chromium with an empty page, without which the test is skipped.
func openBrowser(t *testing.T) *browser {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
		}
	}
	if path == "" {
		t.Skip("no Chromium: pages are not looked at in a browser")
	}
	profile, err := os.MkdirTemp("", "hostbound-chromium-")
	read, to, err2 := os.Pipe()
	from, write, err3 := os.Pipe()
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute) // ends calls that hear nothing
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--no-first-run",
		"--allow-file-access-from-files", "--user-data-dir="+profile, "--remote-debugging-pipe")
	cmd.ExtraFiles = []*os.File{read, write}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read.Close()
	write.Close()
	b := &browser{to: to, from: bufio.NewReader(from)}
	t.Cleanup(func() {
		to.Close() // ends it
		cmd.Wait()
		stop()
		for range 100 { // its other processes end after it, and write until then
			if os.RemoveAll(profile) == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	var target struct{ TargetID string }
	b.call(t, "Target.createTarget", `{"url": "about:blank"}`, &target)
	var attached struct{ SessionID string }
	b.call(t, "Target.attachToTarget", `{"flatten": true, "targetId": "`+target.TargetID+`"}`, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Accessibility"} {
		b.call(t, domain+".enable", `{}`, nil)
	}
	return b
}

// next is the next message of the browser.
func (b *browser) next(t *testing.T) (m message) {
	t.Helper()
	line, err := b.from.ReadBytes(0)
	if err == nil {
		err = json.Unmarshal(line[:len(line)-1], &m)
	}
	if err != nil {
		t.Fatalf("the browser ended: %v", err)
	}
	switch m.Method {
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
		b.said = append(b.said, string(m.Params))
	}
	return m
}

// call calls a method and, if into is given, reads what it returns.
func (b *browser) call(t *testing.T, method, params string, into any) {
	t.Helper()
	b.calls++
	told, err := json.Marshal(message{ID: b.calls, Session: b.session, Method: method, Params: json.RawMessage(params)})
	if err == nil {
		_, err = b.to.Write(append(told, 0))
	}
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	for {
		m := b.next(t)
		if m.ID != b.calls {
			continue
		}
		if m.Error != nil {
			t.Fatalf("%s %s: %s", method, params, m.Error)
		}
		if into != nil {
			if err := json.Unmarshal(m.Result, into); err != nil {
				t.Fatalf("%s: %v in %.200s", method, err, m.Result)
			}
		}
		return
	}
}

// open shows a page, and returns when it is there.
func (b *browser) open(t *testing.T, path string) {
	t.Helper()
	b.call(t, "Page.navigate", `{"url": "file://`+path+`"}`, nil)
	for b.next(t).Method != "Page.loadEventFired" {
	}
}

// eval returns what an expression is on the page.
func (b *browser) eval(t *testing.T, expression string, into any) {
	t.Helper()
	quoted, err := json.Marshal(expression)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call(t, "Runtime.evaluate", `{"returnByValue": true, "expression": `+string(quoted)+`}`, &got)
	if got.ExceptionDetails != nil {
		t.Fatalf("%.300s: %s", expression, got.ExceptionDetails)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(got.Result.Value, into); err != nil {
		t.Fatalf("%.300s: %v in %.300s", expression, err, got.Result.Value)
	}
}

// media sets the medium that the page is for and the scheme of colours that is wanted.
func (b *browser) media(t *testing.T, medium, scheme string) {
	t.Helper()
	b.call(t, "Emulation.setEmulatedMedia", `{"media": "`+medium+`", "features": [{"name": "prefers-color-scheme", "value": "`+scheme+`"}]}`, nil)
}

// keys are those that tests press, by name: their code and what they write.
var keys = map[string]struct {
	code int
	text string
}{
	"Tab": {9, ""}, "Enter": {13, "\r"}, " ": {32, " "}, "Escape": {27, ""}, "ArrowLeft": {37, ""}, "ArrowRight": {39, ""}, "0": {48, "0"}, "+": {187, "+"}, "-": {189, "-"},
}

// press presses a key and lets it go.
func (b *browser) press(t *testing.T, key string) {
	t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		press := map[string]any{"type": kind, "key": key, "windowsVirtualKeyCode": keys[key].code}
		if kind == "keyDown" && keys[key].text != "" {
			press["text"] = keys[key].text
		}
		params, err := json.Marshal(press)
		if err != nil {
			t.Fatal(err)
		}
		b.call(t, "Input.dispatchKeyEvent", string(params), nil)
	}
}

// complaints are what the console said, without what it says of frames that may run no scripts.
func (b *browser) complaints() (said []string) {
	for _, s := range b.said {
		if !strings.Contains(s, "Blocked script execution") {
			said = append(said, s)
		}
	}
	return said
}
