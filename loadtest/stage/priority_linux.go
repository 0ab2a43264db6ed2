package stage

import (
	"os"
	"strconv"
	"syscall"
)

// niceness of the client and of the upstream: before everybody's default of 0.
const niceness = -10

// GoFirst asks the system to run this process before others. In a load test the client and the upstream stand for
// machines of their own; where they share the cores with the gateway, their waiting for a core would be taken for
// the gateway's slowness. It is a wish: without the right to it nothing happens. Processes started later inherit it.
func GoFirst() { setNiceness(niceness) }

// GoAlong ends what GoFirst has asked for, before a process is started that must not inherit it.
func GoAlong() { setNiceness(0) }

func setNiceness(to int) {
	// The priority belongs to each thread; those made later inherit it from their maker.
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, task := range tasks {
		if id, err := strconv.Atoi(task.Name()); err == nil {
			syscall.Setpriority(syscall.PRIO_PROCESS, id, to)
		}
	}
}
