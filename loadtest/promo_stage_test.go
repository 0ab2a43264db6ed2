package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"tidegate/loadtest/stage"
	"tidegate/loadtest/upstream"
)

// openStage starts the fake gateway and the upstream as processes.
func openStage(t *testing.T) *stage.Stage {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cast := promoCast(shortTimeline)
	s, err := stage.Open(t.Context(), t.TempDir(), self, promoConfig(cast), upstream.Options{Groups: poolGroups(cast)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAStageIsReadyWhenOpenAndGoneWhenClosed(t *testing.T) {
	s := openStage(t)
	if _, err := s.Metrics(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Snapshot(t.Context()); err != nil {
		t.Error(err)
	}
	var counts upstream.Counts
	if err := s.Stats(t.Context(), &counts); err != nil || counts.Groups["vip"] != (upstream.Group{}) {
		t.Errorf("%v, %+v", err, counts)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Stats(t.Context(), &counts); err == nil {
		t.Error("the upstream still answers")
	}
	if _, err := s.Snapshot(t.Context()); err == nil {
		t.Error("the gateway still answers")
	}
}

func TestAGatewayThatEndsDuringTheRunEndsTheRun(t *testing.T) {
	s := openStage(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go s.Watch(ctx, cancel)
	s.KillGateway()
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("nobody noticed")
	}
	if why := context.Cause(ctx).Error(); !strings.Contains(why, "the gateway ended") {
		t.Errorf("%s", why)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "ended by itself") {
		t.Errorf("closing: %v", err)
	}
}

func TestAGatewayThatDoesNotStartIsShownWithItsLastWords(t *testing.T) {
	dir := t.TempDir()
	bad := dir + "/bad"
	if err := os.WriteFile(bad, []byte("#!/bin/sh\necho no such level: 'realtme'\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cast := promoCast(shortTimeline)
	_, err := stage.Open(t.Context(), dir, bad, promoConfig(cast), upstream.Options{Groups: poolGroups(cast)})
	if err == nil || !strings.Contains(err.Error(), "realtme") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("%v", err)
	}
}
