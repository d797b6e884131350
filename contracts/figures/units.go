// The default units, and which of their spellings are one unit.

package figures

// DefaultUnits are the units of a policy that names none: those of rule 9, then the open points that
// were decided for (kB, powers, temperatures, areas). Units are case-sensitive.
func DefaultUnits() []string {
	return []string{
		"B", "KB", "MB", "GB", "TB", "PB", "KiB", "MiB", "GiB", "TiB",
		"ns", "us", "µs", "μs", "ms", "s", "sec", "secs", "min", "mins", "h", "hr", "hrs", "d",
		"Hz", "kHz", "MHz", "GHz", "rps", "qps", "bps", "kbps", "Mbps", "Gbps",
		"mg", "g", "kg", "t", "mm", "cm", "m", "km", "px", "dpi", "fps", "W", "kW", "kWh", "V", "A",
		"kB", "PiB", "EB", "kb", "Mb", "Gb", "Tb", "THz", "Tbps",
		"nm", "µm", "μm", "m²", "m³", "km²", "cm²", "cm³", "mm²",
		"mW", "MW", "GW", "Wh", "MWh", "GWh", "mA", "mAh", "mV", "kV", "°C", "°F", "mL", "L", "yr", "yrs",
		"K", "M", "k",
	}
}

// spelledUnits are the default units in words, in any case, with the unit they mean. They go with the
// default units: a policy with units of its own lists its words too.
var spelledUnits = map[string]string{
	"byte": "B", "kilobyte": "KB", "megabyte": "MB", "gigabyte": "GB", "terabyte": "TB", "petabyte": "PB",
	"kibibyte": "KiB", "mebibyte": "MiB", "gibibyte": "GiB", "tebibyte": "TiB",
	"kilobit": "kb", "megabit": "Mb", "gigabit": "Gb",
	"nanosecond": "ns", "microsecond": "us", "millisecond": "ms", "second": "s", "minute": "min", "hour": "h",
	"day": "d", "week": "week", "month": "month", "year": "yr",
	"hertz": "Hz", "kilohertz": "kHz", "megahertz": "MHz", "gigahertz": "GHz",
	"milligram": "mg", "gram": "g", "kilogram": "kg", "tonne": "t", "ton": "t",
	"millimetre": "mm", "millimeter": "mm", "centimetre": "cm", "centimeter": "cm", "metre": "m", "meter": "m",
	"kilometre": "km", "kilometer": "km", "mile": "mile", "litre": "L", "liter": "L",
	"pixel": "px", "watt": "W", "kilowatt": "kW", "megawatt": "MW", "volt": "V", "amp": "A", "ampere": "A",
	"fold": "×",
}

// sameUnits are the spellings of a default unit that state another one.
var sameUnits = map[string]string{
	"µs": "us", "μs": "us", "sec": "s", "secs": "s", "mins": "min", "hr": "h", "hrs": "h", "kB": "KB",
	"μm": "µm", "yrs": "yr", "x": "×",
}

// timeUnits may follow one another without a blank (1h30m).
var timeUnits = map[string]bool{
	"d": true, "h": true, "hr": true, "hrs": true, "m": true, "min": true, "mins": true, "s": true, "sec": true,
	"secs": true, "ms": true, "us": true, "µs": true, "μs": true, "ns": true,
}
