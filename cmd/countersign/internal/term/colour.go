// Colours, where they are wanted.

package term

// Colour is an SGR code of the sixteen that every terminal has.
type Colour string

// The colours in use.
const (
	Bold   Colour = "1"
	Faint  Colour = "2"
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
	Cyan   Colour = "36"
)

// Paint colours s on a coloured stream and leaves it alone on others.
func (o *Out) Paint(c Colour, s string) string {
	if !o.colour || s == "" {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}
