package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Schema is a version of the export's tables.
type Schema struct {
	Major, Minor, Micro int // of EXPORT_SCHEMA_VERSION
}

// The generations that differ in something a reader must care about.
var (
	Schema2020    = Schema{1, 0, 0}   // about 2020: no metadata table, no PROCESSES, TARGET_INFO_GPU.deviceId
	Schema2_9_1   = Schema{2, 9, 1}   // 2022.2: EXPORT_META_DATA
	Schema3_4_0   = Schema{3, 4, 0}   // 2023.3: META_DATA_EXPORT
	Schema3_16_1  = Schema{3, 16, 1}  // 2024.6: greenContextId before streamId
	Schema3_20_3  = Schema{3, 20, 3}  // 2025.3: TARGET_INFO_CUDA_DEVICE
	Schema3_24_14 = Schema{3, 24, 14} // 2026.1: graphId, CUPTI_ACTIVITY_KIND_OVERHEAD, overheadType
	Schema3_25_0  = Schema{3, 25, 0}  // 2026.2: KERNEL.tensorSizeMinusOneElements
	Schema3_28_1  = Schema{3, 28, 1}  // 2026.4: NVTX_EVENTS.eventId as primary key
)

// products are the nsys versions that write each schema, oldest first.
var products = []struct {
	schema  Schema
	version string
}{
	{Schema2020, "2020.3.4.32"},
	{Schema2_9_1, "2022.2.1.31"},
	{Schema3_4_0, "2023.3.1.92"},
	{Schema3_16_1, "2024.6.2.225"},
	{Schema3_20_3, "2025.3.2.474"},
	{Schema3_24_14, "2026.1.1.204"},
	{Schema3_25_0, "2026.2.1.210"},
	{Schema3_28_1, "2026.4.1.191"},
}

// Schemas returns the known versions, oldest first.
func Schemas() []Schema {
	list := make([]Schema, len(products))
	for i, p := range products {
		list[i] = p.schema
	}
	return list
}

// ParseSchema parses a version such as "3.25.0", or "2020". Versions between known ones
// are written like the known one before them.
func ParseSchema(s string) (Schema, error) {
	if s == "2020" {
		return Schema2020, nil
	}
	var v Schema
	n, err := fmt.Sscanf(s+" ", "%d.%d.%d ", &v.Major, &v.Minor, &v.Micro)
	if err != nil || n != 3 || v.String() != s || min(v.Major, v.Minor, v.Micro) < 0 {
		return Schema{}, fmt.Errorf("schema %q is not a version like 3.25.0, or 2020", s)
	}
	return v, nil
}

// String returns the version in the form that ParseSchema accepts.
func (s Schema) String() string {
	if s == Schema2020 {
		return "2020"
	}
	return fmt.Sprintf("%d.%d.%d", s.Major, s.Minor, s.Micro)
}

// before reports whether s is older than o.
func (s Schema) before(o Schema) bool {
	return cmp.Or(cmp.Compare(s.Major, o.Major), cmp.Compare(s.Minor, o.Minor), cmp.Compare(s.Micro, o.Micro)) < 0
}

// product returns the nsys version that writes s.
func (s Schema) product() string {
	version := products[0].version
	for _, p := range products {
		if !s.before(p.schema) {
			version = p.version
		}
	}
	return version
}

// width is how a directory of Parquet files stores a column. SQLite has only signed
// integers, reals and text.
type width uint8

const (
	i64 width = iota
	i32
	u64
	u32
	u16
	u8
	f64
	str
)

// column is one column of a table and the versions that have it.
type column struct {
	name        string
	width       width
	optional    bool
	key         bool
	full        bool   // absent from reduced exports
	since, till Schema // till excluded; zero: no bound
	comment     string // the comment in its CREATE TABLE line
}

// columns are columns of a table, in order.
type columns []column

// must returns NOT NULL columns of one width; names are separated by spaces. They are in
// every version and in reduced exports, unless changed by the methods below.
func must(names string, w width) columns {
	return maybe(names, w).each(func(c *column) { c.optional = false })
}

// maybe is must for columns that may be NULL.
func maybe(names string, w width) (c columns) {
	for name := range strings.FieldsSeq(names) {
		c = append(c, column{name: name, width: w, optional: true})
	}
	return c
}

// join concatenates columns.
func join(parts ...columns) columns { return slices.Concat(parts...) }

// each changes all columns in place.
func (c columns) each(change func(*column)) columns {
	for i := range c {
		change(&c[i])
	}
	return c
}

// These methods change all columns. from sets the first version with them, until the
// first without them. extra omits them from reduced exports. primary makes them the key.
// says sets their comment in CREATE TABLE.
func (c columns) from(s Schema) columns  { return c.each(func(c *column) { c.since = s }) }
func (c columns) until(s Schema) columns { return c.each(func(c *column) { c.till = s }) }
func (c columns) extra() columns         { return c.each(func(c *column) { c.full = true }) }
func (c columns) primary() columns       { return c.each(func(c *column) { c.key = true }) }
func (c columns) says(s string) columns  { return c.each(func(c *column) { c.comment = s }) }

// in reports whether the exports of a version have the column.
func (c column) in(s Schema, reduced bool) bool {
	return !(reduced && c.full) && !s.before(c.since) && (c.till == Schema{} || s.before(c.till))
}

// ddl returns the column as in CREATE TABLE.
func (c column) ddl() string {
	var b strings.Builder
	b.WriteString(c.name)
	switch c.width {
	case f64:
		b.WriteString(" REAL")
	case str:
		b.WriteString(" TEXT")
	default:
		b.WriteString(" INTEGER")
	}
	if !c.optional {
		b.WriteString(" NOT NULL")
	}
	if c.key {
		b.WriteString(" PRIMARY KEY")
	}
	if c.comment != "" {
		b.WriteString(" -- " + c.comment)
	}
	return b.String()
}

// table is one table in all versions.
type table struct {
	name        string
	since, till Schema
	columns     columns
}

// in reports whether the exports of a version have the table.
func (t table) in(s Schema) bool {
	return !s.before(t.since) && (t.till == Schema{} || s.before(t.till))
}
