// What both servers share: a locked directory, a port, a child, its end.

//go:build unix

package localstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// quitBound is how long a child may take to end that is no longer wanted.
const quitBound = 10 * time.Second

// server is a running child and the hold on its directory.
type server struct {
	child *child
	port  int
	done  chan struct{}
}

// serverSpec is what tells PostgreSQL and Temporal apart.
type serverSpec struct {
	name string
	dir  string
	// port wanted; 0 is last time's or a free one.
	port int
	// quit is the signal that ends the server without delay, but lets it give
	// back what would outlive it.
	quit syscall.Signal
	log  *slog.Logger
	// start runs the program; alive is to be inherited by it.
	start func(port int, alive *os.File) (*child, error)
	// ready returns nil when the server answers at port.
	ready func(ctx context.Context, c *child, port int) error
	// lostPort is what the server writes when a port was taken.
	lostPort string
	// inUse, when set, is what it writes when somebody else runs it on dir.
	inUse string
}

// startServer starts until the server is ready, on another port when a free
// one was lost to somebody else. The lock is released when the server has
// ended, or by the caller when an error is returned.
func startServer(ctx context.Context, s serverSpec, lock *dirLock) (*server, error) {
	portFile := filepath.Join(s.dir, "port")
	for try := 1; ; try++ {
		port, err := choosePort(s.port, portFile)
		if err != nil {
			return nil, err
		}
		c, err := s.start(port, lock.alive)
		if err != nil {
			return nil, err
		}
		err = c.awaitReady(ctx, func(ctx context.Context) error { return s.ready(ctx, c, port) })
		ended := errors.Is(err, errEnded)
		lost := ended && c.log.contains(s.lostPort)
		if ended && s.inUse != "" && c.log.contains(s.inUse) {
			err = fmt.Errorf("%w: %w", ErrInUse, err)
		}
		if err == nil {
			err = rememberPort(port, portFile)
		}
		if err == nil {
			lock.passed()
			s.log.Info(s.name+" is ready", "dir", s.dir, "port", port, "pid", c.pid)
			srv := &server{child: c, port: port, done: make(chan struct{})}
			go func() {
				<-c.done
				lock.release()
				close(srv.done)
			}()
			return srv, nil
		}
		// Whether it went by itself does not matter: the reason is known.
		_ = c.stop(context.WithoutCancel(ctx), s.quit, quitBound)
		if !lost || s.port != 0 || try == portTries {
			return nil, err
		}
		s.log.Info("a port was taken, trying another", "server", s.name, "port", port)
	}
}

func (s *server) stop(ctx context.Context, sig syscall.Signal, bound time.Duration) error {
	err := s.child.stop(ctx, sig, bound)
	<-s.done
	return err
}
