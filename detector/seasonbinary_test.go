package detector

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"
)

func TestASeasonIsKeptAsItIs(t *testing.T) {
	for _, weeks := range []int{0, 1, 2, 9} {
		w := newYear(uint64(weeks), office)
		w.weeks(weeks)
		w.hours(40)
		kept, err := w.s.AppendBinary(nil)
		if err != nil || len(kept) > 680 {
			t.Fatalf("%d bytes, %v", len(kept), err)
		}
		read := Season{level: [slots]uint16{5: 7}}
		if err := read.UnmarshalBinary(kept); err != nil || read != w.s {
			t.Errorf("%d weeks: another season comes back: %v", weeks, err)
		}
	}
}

func TestADamagedSeasonIsRefused(t *testing.T) {
	good, err := learned(1, 4, office).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	before := *learned(2, 3, office)
	s := before
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1 << (i % 8)
		if s.UnmarshalBinary(bad) == nil || s.UnmarshalBinary(good[:i]) == nil {
			t.Fatalf("byte %d: taken", i)
		}
	}
	if s.UnmarshalBinary(append(good, 0)) == nil || s != before {
		t.Error("what was refused has changed the season")
	}
}

func FuzzSeason(f *testing.F) {
	good, err := learned(1, 4, office).AppendBinary(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good[:len(good)-crc32.Size])
	f.Add(make([]byte, seasonHead))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = binary.LittleEndian.AppendUint32(bytes.Clone(b), crc32.ChecksumIEEE(b)) // else nothing would come through
		var s Season
		if s.UnmarshalBinary(b) != nil {
			return
		}
		again, err := s.AppendBinary(nil)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x became %x, %v", b, again, err)
		}
		for i := range Slot(slots) {
			s.Learn(i, float64(i))
			if g, _ := Growth(&s, nil, i, (i+1)%slots); !(g >= 1 && g <= mostGrowth) {
				t.Fatalf("growth %v", g)
			}
		}
	})
}

func TestALevelThatNoFlowCanHaveIsRefused(t *testing.T) {
	for rate, ok := range map[float32]bool{0: true, 655_350: true, 655_351: false, 3e38: false} {
		s := Season{last: last{short: rate, long: rate, seconds: 100}}
		kept, err := s.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if read := (Season{}); (read.UnmarshalBinary(kept) == nil) != ok {
			t.Errorf("%v/s: taken: %v", rate, !ok)
		}
	}
	f := NewFlow(t0)
	for range 3000 {
		f.Step(config(), t0.Add(time.Duration(f.last)+cell), mostArrivals)
	}
	kept, err := f.Season().AppendBinary(nil)
	if read := (Season{}); err != nil || read.UnmarshalBinary(kept) != nil {
		t.Error("what the fullest flow keeps is refused")
	}
}
