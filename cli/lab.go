package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/elect-go/elect/internal/lab"
	"github.com/elect-go/elect/internal/labpage"
	"github.com/elect-go/elect/web"
)

// labFlags are the flags of elect lab.
type labFlags struct {
	listen string
	noOpen bool
	export string
	elect  string
	json   bool
}

func (p *program) newLab() *cobra.Command {
	flags := &labFlags{}
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "See a scenario run in the browser, step by step",
		Long: `Serve a page for this machine, and open it in the browser. The page runs scenarios as
elect sim does, and draws what happens: a lane for each node, time downward, an arrow for
each message. A step shows the state of its node before and after it, and which message
caused it. 'elect help scenario' lists the commands of a scenario; the page has examples.
The address of the page contains the scenario, so that a link shows the same run again.

The page plays the lessons of elect lesson, too. A lesson asks what will happen, and shows
its runs after the answer; #lesson=2 at the end of the address opens lesson 2.

In mode time, a click on a lane crashes its node, and an arrowhead that is dragged delays
its message, or loses it off the lane. In mode choice there are no clocks: the page lists
what can happen next, and the next step is yours. "Find me a run in which" searches from
there, as elect explore does, and plays the shortest run. A run can be saved as a file for
elect sim --scenario. Files of elect node --trace, dropped on the page, are drawn as well.

It needs no internet and no other program. The address must be one of the loopback,
because clients are not authenticated. It runs until Ctrl-C.

With --export, it writes the page as one file instead, and serves nothing. A browser opens
the file from the disk: it contains the simulator as WebAssembly, and loads and sends
nothing. The file has the algorithms of elect. To make it, the command needs Go and a clone
of elect: that of --elect, or the one that this program was built from, or the one around
the working directory. The first export takes longer, because Go compiles its library.

With --json, one object: url when it serves; file, bytes and gzip_bytes (after compression)
of an export.

Exit status: 1 it cannot listen or export, 2 a problem in the command line, 130 interrupted.`,
		Example: `  elect lab
  elect lab --listen 127.0.0.1:8080 --no-open
  elect lab --export lab.html`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.runLab(cmd, flags) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&flags.listen, "listen", "127.0.0.1:0", "`address` of the loopback to serve at; port 0 is any free port")
	set.BoolVar(&flags.noOpen, "no-open", false, "open no browser")
	set.StringVar(&flags.export, "export", "", "write the page to this `file`, and serve nothing")
	set.StringVar(&flags.elect, "elect", "", "`folder` of a clone of elect, for --export (default: the clone of this program)")
	set.BoolVar(&flags.json, "json", false, "print one JSON object")
	return cmd
}

func (p *program) runLab(cmd *cobra.Command, flags *labFlags) error {
	isGiven := cmd.Flags().Changed
	switch {
	case isGiven("export") && (isGiven("listen") || isGiven("no-open")):
		return usagef("--export serves nothing, want no --listen and no --no-open")
	case isGiven("elect") && !isGiven("export"):
		return usagef("--elect is for --export")
	case isGiven("export"):
		ctx, stop := interruptible(cmd)
		defer stop()
		return p.exportLab(ctx, cmd, flags)
	}
	if at, err := netip.ParseAddrPort(flags.listen); err != nil || !at.Addr().IsLoopback() {
		return usagef("--listen is %q, want an address of the loopback, such as 127.0.0.1:8080: clients are not authenticated", flags.listen)
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	page, err := labpage.New(ctx, lab.BuildFrom(p.registry))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", flags.listen)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	url := "http://" + listener.Addr().String() + "/"
	if err := flags.announce(cmd.OutOrStdout(), url); err != nil {
		return errors.Join(err, listener.Close())
	}
	if !flags.noOpen {
		if err := openBrowser(url); err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "elect: no browser was opened: %v\n", err)
		}
	}
	return serveUntil(ctx, listener, web.AllowHosts(page))
}

// announce prints the address of the page.
func (f *labFlags) announce(out io.Writer, url string) error {
	if f.json {
		return json.NewEncoder(out).Encode(map[string]string{"url": url})
	}
	_, err := fmt.Fprintf(out, "The lab is at %s until Ctrl-C.\n", url)
	return err
}

// serveUntil serves until ctx ends, and returns its cause.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadTimeout: requestTimeout, WriteTimeout: 6 * requestTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaders,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("lab: %w", err)
	}
	return context.Cause(ctx)
}

// openBrowser opens a page in the browser of the user.
func openBrowser(url string) error {
	words := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if words == nil {
		words = []string{"xdg-open"}
	}
	cmd := exec.Command(words[0], append(words[1:], url)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // the browser may run longer than this command
	return nil
}
