package detector

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// playAnything steps a flow through any moments and arrivals, and checks what must hold of it at all times.
func playAnything(t *testing.T, ops []byte) {
	c, f, now := config(), NewFlow(t0), t0
	surging := false
	for len(ops) >= 4 {
		dt, n := ops[0], int64(ops[1])
		switch dt % 8 {
		case 0: // a gap, or a clock that was set
			now = now.Add(time.Duration(int16(binary.LittleEndian.Uint16(ops[1:]))) * time.Second)
		case 1:
			now = now.Add(time.Duration(int8(ops[2])) * time.Millisecond)
		case 2:
			c.Window = time.Duration(ops[1]) * 40 * time.Millisecond
			c.Rise = time.Duration(1+int(ops[2])) * time.Second / 4
			n = 3
		case 3:
			n <<= ops[2] % 55
			now = now.Add(cell)
		default:
			now = now.Add(cell)
		}
		for range 1 + ops[3]%32 {
			v := f.Step(c, now, n)
			if v == SurgeBegan && surging || v == SurgeEnded && !surging {
				t.Fatalf("verdict %v while surging is %v", v, surging)
			}
			surging = f.Surging()
			now = now.Add(cell)
		}
		ops = ops[4:]
		check(t, &f)
	}
}

func check(t *testing.T, f *Flow) {
	t.Helper()
	for k := range scales {
		sum := uint32(0)
		for i := range scaleCells(k) {
			sum += f.cells.back(i)
		}
		if sum != f.cells.sums[k] {
			t.Fatalf("the newest %d cells hold %d, their sum says %d", scaleCells(k), sum, f.cells.sums[k])
		}
	}
	window := uint32(0)
	for i := range int(f.cells.windowN) {
		window += f.cells.back(i)
	}
	if window != f.cells.window {
		t.Fatalf("the window holds %d, its sum says %d", window, f.cells.window)
	}
	for name, v := range map[string]float64{"rate": f.Rate(), "expected": f.Expected(), "score": f.Score(), "peak": f.Peak(), "stale": f.stale} {
		if !(v >= 0) || math.IsInf(v, 0) {
			t.Fatalf("%s is %v", name, v)
		}
	}
	if f.partial < 0 || f.cells.valid > ringCells || f.State() > Cooling {
		t.Fatalf("partial %d, valid %d, state %v", f.partial, f.cells.valid, f.State())
	}
}

func TestAnySequenceOfStepsKeepsAFlowWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 20))
	for range 300 {
		ops := make([]byte, 400)
		for i := range ops {
			ops[i] = byte(r.UintN(256))
		}
		playAnything(t, ops)
	}
}

func FuzzStep(f *testing.F) {
	f.Add([]byte{4, 10, 0, 31, 4, 10, 0, 31, 4, 200, 0, 10, 0, 1, 0, 3, 4, 10, 0, 31})
	f.Add([]byte{3, 1, 54, 1, 2, 9, 9, 9, 1, 7, 250, 30, 0, 0, 200, 1})
	f.Fuzz(func(t *testing.T, ops []byte) { playAnything(t, ops[:min(len(ops), 800)]) })
}
