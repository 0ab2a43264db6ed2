package policy

import (
	"crypto/sha256"
	"encoding/binary"
)

// key is one API key, of which only the hash is known.
type key struct {
	hash   [sha256.Size]byte
	caller *Caller
	next   *key // another with the same first 8 bytes
}

// CallerByKey returns the caller whose key this is, also a disabled one, and nil if it is nobody's. What time it takes
// depends on the hash alone: the key itself cannot be found out byte by byte. It allocates nothing.
func (p *Policy) CallerByKey(raw []byte) *Caller {
	if len(raw) == 0 {
		return nil
	}
	hash := sha256.Sum256(raw)
	return p.CallerByHash(&hash)
}

// CallerByHash is CallerByKey for who has the key's sha256 already.
func (p *Policy) CallerByHash(hash *[sha256.Size]byte) *Caller {
	for k := p.keys[binary.BigEndian.Uint64(hash[:])]; k != nil; k = k.next {
		if sameHash(&k.hash, hash) {
			return k.caller
		}
	}
	return nil
}

// sameHash compares in constant time, a word at a time.
func sameHash(a, b *[sha256.Size]byte) bool {
	var differ uint64
	for i := 0; i < sha256.Size; i += 8 {
		differ |= binary.NativeEndian.Uint64(a[i:]) ^ binary.NativeEndian.Uint64(b[i:])
	}
	return differ == 0
}

// addKey returns the caller who has the key already, if one has.
func (p *Policy) addKey(hash [sha256.Size]byte, c *Caller) (owner *Caller) {
	first := binary.BigEndian.Uint64(hash[:])
	for k := p.keys[first]; k != nil; k = k.next {
		if k.hash == hash {
			return k.caller
		}
	}
	p.keys[first] = &key{hash: hash, caller: c, next: p.keys[first]}
	return nil
}
