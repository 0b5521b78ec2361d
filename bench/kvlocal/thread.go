package kvlocal

import "runtime"

// onThread keeps this goroutine on its thread, for threadTime, until the function
// that it returns is called.
func onThread() func() {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
