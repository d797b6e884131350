package api

// Polls is how many long polls wait.
func Polls(a *API) int {
	a.hub.mu.Lock()
	defer a.hub.mu.Unlock()
	n := 0
	for _, polls := range a.hub.polls {
		n += len(polls)
	}
	return n
}
