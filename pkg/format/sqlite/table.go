package sqlite

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// layout is how the rows of a table lie in the file.
type layout struct {
	root    int64 // 0 where records are not decoded but left to SQLite
	columns []stored
	rowID   string // a name for the row id that no column has
}

// layouts are those of tables that are known, by name: a *layout each, which does not change.
type layouts struct{ sync.Map }

// stored is a column as the records of a table hold it.
type stored struct {
	name string
	id   bool // it is the row id, which the record does not repeat
	real bool // SQLite turns its whole numbers into floats
	// preset: where a record lacks the column, it is not null but has a default.
	preset bool
}

// layoutQuery asks for the columns of a table. A primary key without an index
// is the row id: INTEGER PRIMARY KEY has none, though INTEGER PRIMARY KEY DESC,
// which is not the row id, does.
const layoutQuery = `SELECT c.name, c.type,
	c.pk > 0 AND NOT EXISTS (SELECT 1 FROM pragma_index_list(m.name) WHERE origin = 'pk'),
	lower(ifnull(c.dflt_value, 'null')) <> 'null',
	c.hidden = 0 AND EXISTS (SELECT 1 FROM pragma_table_list(m.name) WHERE schema = 'main' AND wr = 0),
	m.rootpage
	FROM sqlite_master m, pragma_table_xinfo(m.name) c
	WHERE m.type = 'table' AND m.name = %s COLLATE NOCASE ORDER BY c.cid`

// layout returns the layout of a table. Here and in fields, and nowhere else,
// it is decided who reads the table. SQLite does where there is no tree of
// rows, which is so for views, virtual tables and tables without row ids, and
// where columns are generated: not all of those are in the records. A database
// with text in UTF-16 has no pages for the decoder at all.
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

// isReal reports whether a column of this declared type holds floats only. The
// rule is SQLite's: types are words that occur in what was declared.
func isReal(declared string) bool {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToUpper(declared), w) })
	}
	return has("REAL", "FLOA", "DOUB") && !has("INT", "CHAR", "CLOB", "TEXT", "BLOB")
}

// find returns the number of a column, -1 where there is none of the name.
func (l *layout) find(name string) int {
	return slices.IndexFunc(l.columns, func(c stored) bool { return strings.EqualFold(c.name, name) })
}

// fields returns the wanted columns as they lie in the records, to be decoded
// into the columns of a block, and apart from them those that are the row id.
// It returns false where a column is wanted that the decoder does not do: one
// that is not there, or twice, or has a default that old records may lack, or a
// float as a whole number, or the row id as a text.
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
