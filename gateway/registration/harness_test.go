package registration

import (
	"errors"
	"io/fs"
	"testing"
	"time"

	"tidegate/gateway/config"
)

var t0 = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// world is a registry under a configuration that a test writes.
type world struct {
	*Registry
	t     *testing.T
	plans map[string]string // by caller
	given map[string]bool   // "caller/semantic"
	has   map[string]bool   // semantics of the configuration
	odd   []error
	said  []error
	disk  error // what a write fails with
	wrote int
}

// Callers and semantics have their indexes by their first letter.
func index(name string) int32 { return int32(name[0]) }

func (w *world) terms(caller, semantic string) Terms {
	t := Terms{Plan: w.plans[caller], Given: w.given[caller+"/"+semantic]}
	if t.Plan != "" {
		t.Caller = index(caller)
	}
	if w.has[semantic] {
		t.Semantic = index(semantic)
	}
	return t
}

func open(t *testing.T, dir string) *world {
	t.Helper()
	w := &world{
		t:     t,
		plans: map[string]string{"ann": PlanAuto, "bob": PlanApprove, "off": PlanOff},
		given: map[string]bool{"ann/given": true, "bob/given": true},
		has:   map[string]bool{"chat": true, "export": true, "given": true, Reserved: true},
	}
	w.Registry, w.odd = Open(Options{
		Dir: dir, Config: w.terms, Said: func(err error) { w.said = append(w.said, err) },
		Replace: func(path string, data []byte, mode fs.FileMode) error {
			if w.disk != nil {
				return w.disk
			}
			w.wrote++
			return config.ReplaceFile(path, data, mode)
		},
	})
	return w
}

var words = Words{Description: "Talks to people.", ExpectedRate: "20/s"}

// ask registers, and fails the test if it is refused.
func (w *world) ask(at time.Time, caller, semantic string) View {
	w.t.Helper()
	v, _, err := w.Ask(at, caller, semantic, words)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func (w *world) decide(at time.Time, caller, semantic string, approve bool) View {
	w.t.Helper()
	v, err := w.Decide(at, "owner", "because", caller, semantic, &approve)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// stands fails unless a registration has the status, and requests see it so.
func (w *world) stands(caller, semantic string, want Status) {
	w.t.Helper()
	v, ok := w.Get(caller, semantic)
	if !ok {
		w.t.Errorf("%s/%s is not there", caller, semantic)
		return
	}
	if v.Status != want {
		w.t.Errorf("%s/%s is %v, want %v", caller, semantic, v.Status, want)
	}
	if acts := w.Has(index(caller), index(semantic)); acts != (want == Active) {
		w.t.Errorf("%s/%s is %v, and requests are told %v", caller, semantic, v.Status, acts)
	}
}

func why(err error) Why {
	var f *Failure
	if !errors.As(err, &f) {
		return 255
	}
	return f.Why
}

var errDisk = errors.New("no space left on device")
