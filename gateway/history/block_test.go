package history

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestBlocksComeBackAsTheyWere(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		s := make(samples, (1+rnd.IntN(MaxFields))*slots)
		for f := range len(s) / slots {
			switch base, width := rnd.IntN(1<<16), 1<<rnd.IntN(17); rnd.IntN(4) {
			case 0: // does not change
				for i := range slots {
					s.field(f)[i] = number(base)
				}
			case 1: // is like another
				copy(s.field(f), s.field(rnd.IntN(f+1)))
			default:
				for i := range slots {
					s.field(f)[i] = number(base + rnd.IntN(width))
				}
			}
		}
		b := appendBlock(nil, s)
		got := make(samples, len(s))
		if err := block(b).unpack(got); err != nil || !slices.Equal(got, s) {
			t.Fatalf("%v: %v\nis %v", err, s, got)
		}
		first := make(samples, slots)
		if err := block(b).unpack(first); err != nil || !slices.Equal(first, s[:slots]) {
			t.Fatalf("the first field alone: %v", err)
		}
		if block(b[:len(b)-1]).unpack(got) == nil {
			t.Fatal("a block that is cut off is taken for whole")
		}
	}
}

func TestWhatHardlyChangesTakesHardlyAnything(t *testing.T) {
	s := make(samples, 6*slots)
	if n := len(appendBlock(nil, s)); n > 12 {
		t.Errorf("nothing at all takes %d bytes", n)
	}
	for i := range slots {
		s.field(0)[i] = numberOf(float32(3 + i%6)) // 3 to 8 a second: between 6 and 8 in quarters of the step below
		s.field(1)[i] = s.field(0)[i]
	}
	if n := len(appendBlock(nil, s)); n > 60 {
		t.Errorf("a few a second take %d bytes", n)
	}
}

// Whatever bytes there are, unpacking ends without a panic, and what it has read can be packed and read again.
func FuzzBlock(f *testing.F) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for fields := 1; fields <= MaxFields; fields++ {
		s := make(samples, fields*slots)
		for i := range s {
			s[i] = number(rnd.IntN(1 << (2 * fields)))
		}
		f.Add(appendBlock(nil, s), fields)
	}
	f.Add([]byte{32}, 1)
	f.Add([]byte{0, 0, 32, 33}, 3)
	f.Fuzz(func(t *testing.T, b []byte, fields int) {
		s := make(samples, (1+(fields&0x7f)%MaxFields)*slots)
		if block(b).unpack(s) != nil {
			return
		}
		again := make(samples, len(s))
		if err := block(appendBlock(nil, s)).unpack(again); err != nil || !slices.Equal(again, s) {
			t.Fatalf("%v: %v is %v", err, s, again)
		}
	})
}

// The same for what a minute is.
func FuzzMinute(f *testing.F) {
	k := []id{idOf(Key{Total, "", ""}), idOf(Key{Pool, "shared", ""}), idOf(alice)}
	p := &packed{minute: 1, ran: 7, ids: k}
	for _, i := range k {
		p.data = appendBlock(p.data, make(samples, i.kind().width()*slots))
		p.ends = append(p.ends, uint32(len(p.data)))
	}
	tally, err := tallyOf(1, k, make([]number, 5+8+6))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p.encode())
	f.Add(tally.encode())
	f.Add(binary.LittleEndian.AppendUint32(nil, 1<<31))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := decodePacked(1, 7, b); err == nil {
			if !bytes.Equal(p.encode(), b) {
				t.Fatal("a packed minute is another one when it is read")
			}
			var room [MaxFields * slots]number
			for place, i := range p.ids {
				_ = p.at(place).unpack(room[:i.kind().width()*slots]) // may be anything, but ends
			}
		}
		if tl, err := decodeTally(1, b); err == nil {
			if !bytes.Equal(tl.encode(), b) {
				t.Fatal("a tally is another one when it is read")
			}
			for _, i := range tl.ids {
				if len(tl.of(i)) != i.kind().width() {
					t.Fatal("a tally has too few numbers")
				}
			}
		}
	})
}
