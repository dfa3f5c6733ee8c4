package main

import (
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/cli/command"
)

// profileTime is how long each command is repeated for a profile. The profiler takes 100
// samples per second.
const profileTime = 5 * time.Second

// profile writes a CPU profile of the measured commands, in which all have the same
// weight. The installed binary is built with it.
func profile(dir, bin, path string, events int, host hostRows) error {
	f, err := prepare(dir, bin, events, host)
	if err != nil {
		return err
	}
	trace, err := torchTrace(dir, bin, events/4)
	if err != nil {
		return err
	}
	commands := [][]string{f.tool("torch2arrow", trace)}
	for _, m := range f.measurements(events) {
		if len(m.commands) == 1 && m.name != cScanName {
			commands = append(commands, m.commands[0])
		}
	}
	return cli.WriteFile(path, func(w io.Writer) error {
		if err := pprof.StartCPUProfile(w); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
		return repeat(commands)
	})
}

// repeat runs commands in this process, each for the same time.
func repeat(commands [][]string) error {
	for _, args := range commands {
		for begin := time.Now(); time.Since(begin) < profileTime; {
			if err := inProcess(args); err != nil {
				return err
			}
		}
	}
	return nil
}

// inProcess runs a command in this process.
func inProcess(args []string) error {
	name := args[1]
	k := slices.IndexFunc(command.All, func(c *cli.Command) bool { return c.Name == name })
	if status := cli.Run(command.All[k], args[2:], os.Stdin, io.Discard, os.Stderr); status == cli.StatusTrouble {
		return fmt.Errorf("%s ended with %d", name, status)
	}
	return nil
}
