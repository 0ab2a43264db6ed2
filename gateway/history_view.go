package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidegate/gateway/config"
	"tidegate/gateway/console"
	"tidegate/gateway/history"
)

// historyWait is how long a curve waits for a disk that does not answer: then it shows what is in memory.
const historyWait = 3 * time.Second

// historyView is how something was. Its error says what is wrong with the name.
func (g *Gateway) historyView(q console.HistoryQuery) (console.HistoryView, error) {
	kind := slices.Index(console.HistoryKinds, q.Kind)
	if kind < 0 {
		return console.HistoryView{}, fmt.Errorf("kind must be one of %s", strings.Join(console.HistoryKinds, ", "))
	}
	h := g.history.Load()
	if h == nil {
		return console.HistoryView{}, errors.New("nothing is remembered yet")
	}
	now := time.Now()
	if q.Until.IsZero() || q.Until.After(now) {
		q.Until = now
	}
	key := history.Key{Kind: history.Kind(kind), Name: q.Name}
	if key.Kind == history.Level || key.Kind == history.Caller {
		key.Name, key.Part, _ = strings.Cut(q.Name, "/") // no name has a slash
	}
	ctx, cancel := context.WithTimeout(context.Background(), historyWait)
	defer cancel()
	v, known := h.Read(ctx, key, q.Until, q.Span)
	if !known {
		if err := g.live.Load().knows(key); err != nil {
			return console.HistoryView{}, err
		}
	}
	view := console.HistoryView{Kind: q.Kind, Name: q.Name, From: v.From.UTC(), StepMS: v.Step.Milliseconds(), Fields: make(map[string]console.Series)}
	for i, name := range history.Fields(key.Kind) {
		view.Fields[name] = v.Fields[i]
	}
	return view, nil
}

// knows says what is wrong with the name of something that was never remembered; nil: it is there, and was quiet.
func (l *live) knows(k history.Key) error {
	pool := slices.ContainsFunc(l.config.Pools, func(p config.Pool) bool { return p.Name == k.Name })
	switch k.Kind {
	case history.Total:
		if k.Name != "" {
			return errors.New("the total has no name")
		}
	case history.Pool:
		if !pool {
			return fmt.Errorf("there is no pool %q, nor was there one within what is remembered", k.Name)
		}
	case history.Level:
		if !pool || !slices.ContainsFunc(l.config.Levels, func(of config.Level) bool { return of.Name == k.Part }) {
			return fmt.Errorf("there is no level %q of a pool %q, nor was there one within what is remembered; it is named pool/level", k.Part, k.Name)
		}
	case history.Caller:
		if l.policy.Caller(k.Name) == nil {
			return fmt.Errorf("there is no caller %q, nor was there one within what is remembered", k.Name)
		}
		if k.Part != "" && !slices.ContainsFunc(l.config.Semantics, func(s config.Semantic) bool { return s.Name == k.Part }) {
			return fmt.Errorf("there is no semantic %q, nor did caller %q send any within what is remembered", k.Part, k.Name)
		}
	}
	return nil
}
