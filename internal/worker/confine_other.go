//go:build !linux

package worker

// confine has nothing to offer: only its host bounds a worker, by its time.
func confine(int64, bool) Confinement {
	return Confinement{Missing: "this system has no limits that a worker could set for itself"}
}
