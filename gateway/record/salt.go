package record

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// saltBytes is 128 bits: the key of SipHash.
const saltBytes = 16

// openSalt takes the salt's file for this process and returns what is in it: 32 hex digits. A new one is made if
// there is none. The lock ends with the process, however that ends.
func openSalt(path string) (*os.File, saltKey, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, saltKey{}, err
	}
	key, err := readSalt(f)
	if err != nil {
		f.Close()
		return nil, saltKey{}, err
	}
	return f, key, nil
}

func readSalt(f *os.File) (saltKey, error) {
	if err := lockFile(f); err != nil {
		return saltKey{}, fmt.Errorf("another process records there (%w); give each gateway a directory of its own", err)
	}
	if err := f.Chmod(0o600); err != nil { // it may have been copied here
		return saltKey{}, err
	}
	text, err := io.ReadAll(io.LimitReader(f, 256))
	if err != nil {
		return saltKey{}, err
	}
	var salt [saltBytes]byte
	if len(text) == 0 {
		rand.Read(salt[:])
		if _, err := f.WriteAt([]byte(hex.EncodeToString(salt[:])+"\n"), 0); err != nil {
			return saltKey{}, errors.Join(err, f.Truncate(0))
		}
		if err := f.Sync(); err != nil {
			return saltKey{}, err
		}
	} else if read, err := hex.DecodeString(strings.TrimSpace(string(text))); err != nil || len(read) != saltBytes {
		return saltKey{}, fmt.Errorf("%s must hold %d hex digits; remove it for a new one, under which tenants have other names than before", f.Name(), 2*saltBytes)
	} else {
		copy(salt[:], read)
	}
	return saltKey{binary.LittleEndian.Uint64(salt[:]), binary.LittleEndian.Uint64(salt[8:])}, nil
}
