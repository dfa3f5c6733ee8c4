package checkpoint

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/hostbound/hostbound/pkg/format/parquet"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// tableTypes are the Parquet types of a table's columns.
var tableTypes = [...]parquet.Type{table.Text: parquet.Text, table.Int: parquet.Int64, table.Float: parquet.Float64, table.Bool: parquet.Bool}

// WriteTable writes a table as a sealed Parquet file. Its footer has the schema,
// version and metadata under the keys of arrow.WriteTable.
func WriteTable(w io.Writer, t *table.Table) error {
	cols := make([]parquet.Column, len(t.Columns))
	chunk := parquet.Chunk{N: t.Len(), Cols: make([]parquet.Vector, len(t.Columns))}
	for i := range t.Columns {
		c := &t.Columns[i]
		cols[i] = parquet.Column{Name: c.Name, Type: tableTypes[c.Type], Nullable: true}
		chunk.Cols[i] = toPlain(&c.Values)
	}
	out := parquet.NewWriter(w, cols, parquet.Options{Sealed: true})
	out.SetMetadata(event.KeySchema, t.Schema)
	out.SetMetadata(event.KeyVersion, strconv.Itoa(t.Version))
	for _, key := range slices.Sorted(maps.Keys(t.Meta)) {
		out.SetMetadata(key, t.Meta[key])
	}
	if err := out.Append(&chunk); err != nil {
		return err
	}
	return out.Close()
}

// SchemaOf returns the schema in a Parquet file's footer; ours is false if there is
// none. WriteTable and checkpoints of events write it.
func SchemaOf(path string) (schema string, ours bool) {
	f, err := parquet.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	return f.Metadata(event.KeySchema)
}

// IsTable reports whether WriteTable wrote a file.
func IsTable(path string) bool {
	schema, ours := SchemaOf(path)
	return ours && schema != event.SchemaName
}

// ReadTable reads a Parquet file that WriteTable or another program wrote. In the
// latter case Schema is "", and columns of types that tables do not have are left out.
func ReadTable(path string) (*table.Table, error) {
	f, err := parquet.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t := table.New("", 0)
	for _, key := range f.MetadataKeys() {
		t.Meta[key], _ = f.Metadata(key)
	}
	switch t.Schema = t.Meta[event.KeySchema]; t.Schema {
	case "":
	case event.SchemaName: // may not fit into memory
		return nil, fmt.Errorf("%s: holds events, not rows of a result", path)
	default:
		if t.Version, err = strconv.Atoi(t.Meta[event.KeyVersion]); err != nil {
			return nil, fmt.Errorf("%s: version %q of %s", path, t.Meta[event.KeyVersion], t.Schema)
		}
	}
	for _, col := range f.Columns() {
		typ := slices.Index(tableTypes[:], col.Type)
		if typ < 0 {
			continue
		}
		c, err := readTableColumn(f, table.NewColumn(table.Field{Name: col.Name, Type: table.Type(typ)}))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		t.Columns = append(t.Columns, c)
	}
	t.SetLen(int(f.Rows()))
	return t, nil
}

// readTableColumn returns a column with its values from all row groups.
func readTableColumn(f *parquet.File, c table.Column) (table.Column, error) {
	var v parquet.Vector
	rows := 0
	for g := range f.Groups() {
		if err := f.ReadColumn(g, c.Name, nil, &v); err != nil {
			return c, err
		}
		n := int(f.GroupRows(g))
		c.Extend(rows, fromForeign(&v, c.Values.Type), n)
		rows += n
	}
	return c, nil
}
