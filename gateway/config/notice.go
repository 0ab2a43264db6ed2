package config

import (
	"context"
	"time"

	"github.com/knadh/koanf/providers/file"
)

// notice sends the system's notices of a change until ctx is done; a notice that finds another one waiting
// is dropped. koanf's watch ends for good when the file is removed, even for a moment as editors do it, so
// a new one is set up, with a new provider: after a failed start the old one stays locked.
func notice(ctx context.Context, path string, notices chan<- struct{}) {
	const shortest, longest = 20 * time.Millisecond, time.Second
	pause := shortest
	tell := func() {
		select {
		case notices <- struct{}{}:
		default:
		}
	}
	for ctx.Err() == nil {
		ended := make(chan struct{}, 1)
		provider := file.Provider(path)
		started := time.Now()
		err := provider.Watch(func(_ any, err error) {
			tell()
			if err != nil {
				ended <- struct{}{} // the watch's last word
			}
		})
		if err == nil {
			tell() // what happened while there was no watch
			select {
			case <-ended:
			case <-ctx.Done():
				_ = provider.Unwatch() // nothing depends on how it ends
				return
			}
		}
		if time.Since(started) > longest {
			pause = shortest
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, longest)
	}
}
