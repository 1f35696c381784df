//go:build !linux

package worker

// confine does nothing: only the host bounds a worker, by its time.
func confine(int64, bool) Confinement {
	return Confinement{Missing: "this system has no limits that a worker could set for itself"}
}
