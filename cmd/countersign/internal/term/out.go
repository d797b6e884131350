// An output stream that knows whether a person is watching.

package term

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"golang.org/x/term"
)

// Out is one output stream of a command.
type Out struct {
	w      io.Writer
	fd     int
	tty    bool
	colour bool
}

// New looks at w: a terminal gets colours, unless NO_COLOR is set or TERM is dumb.
func New(w io.Writer) *Out {
	o := &Out{w: w}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return o
	}
	o.fd, o.tty = int(f.Fd()), true
	o.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return o
}

// Terminal reports whether a person sees the stream as it is written.
func (o *Out) Terminal() bool { return o.tty }

// Width is how many columns a line may have; 0 is no limit.
func (o *Out) Width() int {
	if !o.tty {
		return 0
	}
	width, _, err := term.GetSize(o.fd)
	if err != nil {
		return 80
	}
	return width
}

// Write passes bytes through as they are.
func (o *Out) Write(p []byte) (int, error) { return o.w.Write(p) }

// Printf formats as fmt.Printf does; text from elsewhere must have gone through Safe.
func (o *Out) Printf(format string, args ...any) { fmt.Fprintf(o.w, format, args...) }

// Println is a line of the given operands.
func (o *Out) Println(args ...any) { fmt.Fprintln(o.w, args...) }

// Table writes rows in aligned columns under a header; cells are made safe. With no rows it says so.
func (o *Out) Table(header []string, rows [][]string) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(o.w, "none")
		return err
	}
	tw := tabwriter.NewWriter(o.w, 0, 0, 2, ' ', 0)
	writeRow(tw, header)
	for _, row := range rows {
		writeRow(tw, row)
	}
	return tw.Flush()
}

// Fields writes name and value pairs one below the other; values are made safe, empty ones left out.
func (o *Out) Fields(pairs ...string) error {
	tw := tabwriter.NewWriter(o.w, 0, 0, 2, ' ', 0)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			writeRow(tw, pairs[i:i+2])
		}
	}
	return tw.Flush()
}

// writeRow leaves the last cell unpadded; errors surface at Flush.
func writeRow(tw *tabwriter.Writer, cells []string) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(tw, "\t")
		}
		fmt.Fprint(tw, Safe(cell))
	}
	fmt.Fprintln(tw)
}
