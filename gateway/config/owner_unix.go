//go:build unix

package config

import (
	"io/fs"
	"os"
	"syscall"
)

// takeOwner gives a file the owner and group of another one. Only root may give files away; anybody else
// may still give it to a group of his own.
func takeOwner(f *os.File, like fs.FileInfo) {
	s, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if err := f.Chown(int(s.Uid), int(s.Gid)); err != nil {
		_ = f.Chown(-1, int(s.Gid)) // it is ours then, and as readable as it was
	}
}
