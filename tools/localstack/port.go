// Free ports, remembered from one run to the next.

//go:build unix

package localstack

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// choosePort chooses the port a server is started on: want itself, or for 0 the one
// remembered in file when it is free, or any free one. A taken want is an
// error.
func choosePort(want int, file string) (int, error) {
	if want != 0 {
		if err := portFree(want); err != nil {
			return 0, fmt.Errorf("port %d is not free: %w", want, err)
		}
		return want, nil
	}
	if b, err := os.ReadFile(file); err == nil {
		if last, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && last > 0 && portFree(last) == nil {
			return last, nil
		}
	}
	return freePort()
}

func freePort() (int, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func portFree(port int) error {
	l, err := net.Listen("tcp4", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return l.Close()
}

func rememberPort(port int, file string) error {
	return writeFile(file, fmt.Appendf(nil, "%d\n", port))
}

// writeFile replaces path whole or not at all, readable by this user only. The
// caller is the only writer of path: it holds the directory's lock.
func writeFile(path string, data []byte) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
