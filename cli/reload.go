package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/elect-go/elect/internal/confload"
	"github.com/elect-go/elect/internal/diag"
	"github.com/elect-go/elect/internal/disk"
)

// adjustable is the part of a node that changes its settings at run time.
type adjustable interface {
	SetPriority(ctx context.Context, priority int) error
	SetMeta(ctx context.Context, meta map[string]string) error
	SetMembers(ctx context.Context, members []string) error
}

// reloader reloads the configuration of a running node at each SIGHUP, and applies the settings that a running node can
// change.
type reloader struct {
	load    func() (*confload.Settings, error)
	running *confload.Settings // settings in effect
	level   *slog.LevelVar
	log     *slog.Logger
}

// attach starts to reload the configuration of a node at SIGHUP, if the node has a file. The returned function stops
// that and waits for its end.
func (r *reloader) attach(ctx context.Context, n adjustable) (detach func()) {
	if r.running.File == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			select {
			case <-signals:
				r.reload(ctx, n)
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		signal.Stop(signals)
		cancel()
		serving.Wait()
	}
}

// reload applies a configuration without problems, and otherwise changes nothing. It returns when ctx ends, even if a
// file system does not answer.
func (r *reloader) reload(ctx context.Context, n adjustable) {
	load := func() (*confload.Settings, error) {
		s, err := r.load()
		if err == nil {
			_, err = s.Node() // only to check it
		}
		return s, err
	}
	s, err := disk.Await(ctx, load, func(*confload.Settings) {})
	switch {
	case err != nil && ctx.Err() != nil:
		return // the node stops
	case err != nil:
		r.logProblems(err)
		return
	}
	var applied, unchanged []string
	for _, e := range s.Changed(r.running) {
		name := e.Field.Name
		switch {
		case !e.Field.Reloadable:
			unchanged = append(unchanged, name)
			continue
		case name == "priority":
			if err := n.SetPriority(ctx, s.Config.Priority); err != nil {
				r.log.Error("priority not changed", "error", err)
				continue
			}
		case name == "meta":
			if err := n.SetMeta(ctx, s.Config.Meta); err != nil {
				r.log.Error("metadata not changed", "error", err)
				continue
			}
		case name == "members":
			if err := n.SetMembers(ctx, s.Config.Members); err != nil {
				r.log.Error("members not changed", "error", err)
				continue
			}
		}
		applied = append(applied, name+" "+e.Text())
		r.running.Apply(s, name)
	}
	// The line about a raised level is still logged at the old level.
	r.level.Set(min(r.level.Level(), s.Level()))
	if len(unchanged) > 0 {
		r.log.Warn("setting changed, restart required", "fields", strings.Join(unchanged, ", "))
	}
	r.log.Info("configuration reloaded", "file", s.File, "changed", strings.Join(applied, ", "))
	r.level.Set(s.Level())
}

// logProblems logs every problem of the configuration.
func (r *reloader) logProblems(err error) {
	const message = "configuration not reloaded"
	wrong, ok := errors.AsType[*diag.Error](err)
	if !ok {
		r.log.Error(message, "error", err)
		return
	}
	for _, m := range wrong.Problems {
		r.log.Error(message, "problem", m.Error())
	}
	if wrong.More {
		r.log.Error(message, "problem", "and more")
	}
}
