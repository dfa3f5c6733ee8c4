package command

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/analysis/doctor"
	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/analysis/replay"
	"github.com/hostbound/hostbound/pkg/analysis/verdict"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/hotspot"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// contract is a JSON format for programs: its name with a version, within which keys
// may be added but never renamed or removed, and the Go type that is encoded, from
// which its JSON Schema is derived.
type contract struct {
	name string
	of   reflect.Type
}

var (
	verdictJSON  = contract{"verdict/3", reflect.TypeFor[verdict.Report]()}
	diffJSON     = contract{"diff/3", reflect.TypeFor[compare.Comparison]()}
	gapsJSON     = contract{"gaps/1", reflect.TypeFor[gap.Report]()}
	whatifJSON   = contract{"whatif/1", reflect.TypeFor[replay.Report]()}
	hotspotsJSON = contract{"hotspots/1", reflect.TypeFor[profiled]()}
	typesJSON    = contract{"types/1", reflect.TypeFor[hotspot.Catalogue]()}
	doctorJSON   = contract{"doctor/1", reflect.TypeFor[doctor.Diagnosis]()}
	outliersJSON = contract{"outliers/1", reflect.TypeFor[metric.Outliers]()}
	briefJSON    = contract{"brief/1", reflect.TypeFor[report.Brief]()}

	contracts = []contract{verdictJSON, diffJSON, gapsJSON, whatifJSON, hotspotsJSON, typesJSON, doctorJSON, outliersJSON, briefJSON}
)

// document is a value, or a pointer to one, whose type has a contract.
type document struct{ value any }

// MarshalJSON puts the name of the contract before the keys of the value.
func (d document) MarshalJSON() ([]byte, error) {
	of := reflect.TypeOf(d.value)
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	k := slices.IndexFunc(contracts, func(c contract) bool { return c.of == of })
	if k < 0 {
		panic("BUG: JSON without a contract: " + of.String())
	}
	text, err := json.Marshal(d.value)
	if err != nil {
		return nil, err
	}
	return append(fmt.Appendf(nil, `{"schema":%q,`, contracts[k].name), text[1:]...), nil
}

// schemaFlag is the flag of commands that write JSON.
var schemaFlag = cli.Flag{Name: "schema", Usage: "read nothing, and print the JSON Schema (2020-12) of what the same flags write as JSON", Default: false}

// ownJSON returns the schemas of types that encode themselves.
func ownJSON() map[reflect.Type]*jsonschema.Schema {
	own := map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[compare.Interval](): schemaOf(reflect.TypeFor[[2]*float64](), nil)}
	own[reflect.TypeFor[compare.CountRow]()] = schemaOf(reflect.TypeFor[compare.CountJSON](), own)
	return own
}

func schemaOf(of reflect.Type, own map[reflect.Type]*jsonschema.Schema) *jsonschema.Schema {
	s, err := jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: own})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return s
}

// schema returns the JSON Schema of a contract.
func (c contract) schema() *jsonschema.Schema {
	s := schemaOf(c.of, ownJSON())
	addName(s, c.name)
	return published(c.name, s)
}

// addName puts the name of a format before the keys of its schema.
func addName(s *jsonschema.Schema, name string) {
	s.Properties["schema"] = &jsonschema.Schema{Const: jsonschema.Ptr[any](name), Description: "the name and version of this form"}
	s.PropertyOrder = append([]string{"schema"}, s.PropertyOrder...)
	s.Required = append([]string{"schema"}, s.Required...)
}

// rowSchema returns the JSON Schema of a row of tables like t, which is a line of JSON.
func rowSchema(t *table.Table) *jsonschema.Schema {
	types := map[table.Type]string{table.Text: "string", table.Int: "integer", table.Float: "number", table.Bool: "boolean"}
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	for i := range t.Columns {
		c := &t.Columns[i]
		s.Properties[c.Name] = &jsonschema.Schema{Types: []string{"null", types[c.Type]}}
		s.PropertyOrder = append(s.PropertyOrder, c.Name)
	}
	addName(s, t.Name())
	return published(t.Name(), s)
}

// published returns a schema as it is printed: with a title and its draft, open to keys
// that later programs add, and with repeated objects as definitions.
func published(name string, s *jsonschema.Schema) *jsonschema.Schema {
	seen := map[string]int{}
	finish(s, seen)
	defs := &shared{seen: seen, names: map[string]string{}, defs: map[string]*jsonschema.Schema{}}
	defs.within(s)
	s.Schema, s.Title, s.Defs = "https://json-schema.org/draft/2020-12/schema", name, defs.defs
	return s
}

// finish opens objects to further keys, and counts the occurrences of each object.
func finish(s *jsonschema.Schema, seen map[string]int) {
	if s == nil {
		return
	}
	for _, p := range s.Properties {
		finish(p, seen)
	}
	finish(s.Items, seen)
	if len(s.Properties) == 0 {
		finish(s.AdditionalProperties, seen)
		return
	}
	s.AdditionalProperties = nil
	seen[text(s)]++
}

// shared holds the objects that occur in a schema more than once, by name.
type shared struct {
	seen  map[string]int
	names map[string]string // by the JSON of the object
	defs  map[string]*jsonschema.Schema
}

// within replaces such objects below s by references.
func (d *shared) within(s *jsonschema.Schema) {
	for _, key := range s.PropertyOrder {
		s.Properties[key] = d.place(key, s.Properties[key])
	}
}

// place returns the replacement of a schema under a key.
func (d *shared) place(key string, s *jsonschema.Schema) *jsonschema.Schema {
	switch {
	case s.Items != nil:
		s.Items = d.place(key, s.Items)
		return s
	case s.AdditionalProperties != nil:
		s.AdditionalProperties = d.place(key, s.AdditionalProperties)
		return s
	case len(s.Properties) == 0:
		return s
	}
	said := text(s)
	if name := d.names[said]; name != "" {
		return &jsonschema.Schema{Ref: "#/$defs/" + name}
	}
	if d.seen[said] < 2 {
		d.within(s)
		return s
	}
	for d.defs[key] != nil {
		key += "_"
	}
	d.names[said], d.defs[key] = key, s
	d.within(s)
	return &jsonschema.Schema{Ref: "#/$defs/" + key}
}

// text returns a schema as JSON.
func text(s *jsonschema.Schema) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(b)
}

// writeSchema writes the schema of what a call would have written.
func writeSchema(c *cli.Call, command string) error {
	w := outputs[command]
	reports := w.json.of != nil && (!w.must || c.Bool(w.asked)) && c.String("format") != formatJSONL
	var s *jsonschema.Schema
	switch {
	case w.brief && c.Bool(briefFlag.Name):
		s = briefJSON.schema()
	case c.Has("types") && c.Bool("types"):
		s = typesJSON.schema()
	case reports && c.Has("archive") && c.IsSet("archive"):
		s = outliersJSON.schema()
	case reports:
		s = w.json.schema()
	default:
		t, err := w.row(c)
		if err != nil {
			return err
		}
		s = rowSchema(t)
	}
	return c.Output(func(out io.Writer) error {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(s)
	})
}

// eventRow returns an empty table of events.
func eventRow(*cli.Call) (*table.Table, error) {
	const all = event.BaseCols | event.StepCols | event.PhaseCols | event.HostCols | event.StackCols
	return table.FromEvents(&event.Header{Columns: all}, &event.Batch{}), nil
}

// metricRow returns an empty table of metrics; with --runs, of runs.
func metricRow(c *cli.Call) (*table.Table, error) {
	if c.Bool("runs") {
		return metric.New(), nil
	}
	return new(metric.Result).Table(), nil
}

// diffRow returns an empty table of differences; with --archive, of the runs that
// differ.
func diffRow(c *cli.Call) (*table.Table, error) {
	if c.IsSet("archive") {
		return new(metric.Outliers).Table(), nil
	}
	return new(compare.Comparison).Table(), nil
}

// gapRow returns an empty table of the report that --report names.
func gapRow(c *cli.Call) (*table.Table, error) {
	part := c.String("report")
	if !slices.Contains(gap.Reports, part) {
		return nil, rowsOfWhich(formatJSONL)
	}
	return new(gap.Report).Table(part)
}
