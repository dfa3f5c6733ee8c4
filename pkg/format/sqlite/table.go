package sqlite

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// layout describes how the rows of a table are stored.
type layout struct {
	root    int64 // 0 if SQLite must decode the records
	columns []stored
	rowID   string // a name of the row id that no column has
}

// layouts are the known tables' layouts by name, each a *layout, which does not change.
type layouts struct{ sync.Map }

// stored is a column as stored in the records of a table.
type stored struct {
	name string
	id   bool // the row id, which records do not contain
	real bool // SQLite converts its integers to floats
	// preset: if a record lacks the column, the value is a default, not null.
	preset bool
}

// layoutQuery returns the columns of a table. A primary key without an index is the row
// id: INTEGER PRIMARY KEY has none, but INTEGER PRIMARY KEY DESC, which is not the row
// id, has one.
const layoutQuery = `SELECT c.name, c.type,
	c.pk > 0 AND NOT EXISTS (SELECT 1 FROM pragma_index_list(m.name) WHERE origin = 'pk'),
	lower(ifnull(c.dflt_value, 'null')) <> 'null',
	c.hidden = 0 AND EXISTS (SELECT 1 FROM pragma_table_list(m.name) WHERE schema = 'main' AND wr = 0),
	m.rootpage
	FROM sqlite_master m, pragma_table_xinfo(m.name) c
	WHERE m.type = 'table' AND m.name = %s COLLATE NOCASE ORDER BY c.cid`

// layout returns the layout of a table. Only here and in fields is it decided who
// decodes the table. SQLite does if there is no tree of rows (views, virtual tables,
// tables without row ids) or if columns are generated, since records do not contain all
// of these. A database with UTF-16 text has no pages for the decoder at all.
func (d *DB) layout(table string) (*layout, error) {
	if l, ok := d.layouts.Load(table); ok {
		return l.(*layout), nil
	}
	l, decoded := &layout{}, true
	sql := strings.Replace(layoutQuery, "%s", literal(table), 1)
	err := d.query(sql, []Type{Text, Text, Int, Int, Int, Int}, BlockRows, func(b *Block) error {
		for i := range b.N {
			l.columns = append(l.columns, stored{
				name:   string(b.Cols[0].Text(i)),
				real:   isReal(string(b.Cols[1].Text(i))),
				id:     b.Cols[2].Int[i] != 0,
				preset: b.Cols[3].Int[i] != 0,
			})
			decoded = decoded && b.Cols[4].Int[i] != 0
			l.root = b.Cols[5].Int[i]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, l.rowID = range []string{"rowid", "_rowid_", "oid"} {
		if l.find(l.rowID) < 0 {
			break
		}
	}
	if !decoded || !d.isTable(l.root) {
		l.root = 0
	}
	d.layouts.Store(table, l)
	return l, nil
}

// isTable reports whether a page is the root of a table with row ids.
func (d *DB) isTable(root int64) bool {
	if root < 2 || root > int64(d.file.pages) {
		return false
	}
	page, err := d.file.one(uint32(root))
	return err == nil && (page[0] == leafPage || page[0] == interiorPage)
}

// isReal reports whether a column of this declared type holds only floats. The rule is
// SQLite's: types are recognised by words in the declaration.
func isReal(declared string) bool {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToUpper(declared), w) })
	}
	return has("REAL", "FLOA", "DOUB") && !has("INT", "CHAR", "CLOB", "TEXT", "BLOB")
}

// find returns the index of a column, -1 if there is none with that name.
func (l *layout) find(name string) int {
	return slices.IndexFunc(l.columns, func(c stored) bool { return strings.EqualFold(c.name, name) })
}

// fields returns the wanted columns as stored in records, to be decoded into the
// columns of a block, and separately those that are the row id. It returns false if the
// decoder cannot read a column: it does not exist, is wanted twice, has a default that
// old records may lack, is a float read as an integer, or is the row id read as text.
func (l *layout) fields(columns []Column, b *Block) (fields []field, ids []*Vector, ok bool) {
	if l.root == 0 || len(columns) > maxFields {
		return nil, nil, false
	}
	for i, want := range columns {
		at := l.find(want.Name)
		if at < 0 {
			return nil, nil, false
		}
		c := l.columns[at]
		if c.preset || want.Type == Int && c.real || want.Type == Text && c.id {
			return nil, nil, false
		}
		if c.id {
			ids = append(ids, &b.Cols[i])
		} else {
			fields = append(fields, field{skip: at, vector: &b.Cols[i], number: want.Type == Int, keep: want.Keep})
		}
	}
	slices.SortFunc(fields, func(a, b field) int { return cmp.Compare(a.skip, b.skip) })
	for i := len(fields) - 1; i > 0; i-- {
		fields[i].skip -= fields[i-1].skip + 1
		if fields[i].skip < 0 {
			return nil, nil, false
		}
	}
	return fields, ids, true
}
