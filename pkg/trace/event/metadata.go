package event

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Keys of the metadata in which formats keep a Header, except its columns. The schema's
// name, its version and the stage are plain text, the rest is JSON.
const (
	KeySchema    = "hostbound.schema"    // SchemaName, or the schema of metric rows and tables
	KeyVersion   = "hostbound.version"   // of the schema, a decimal number
	KeyStage     = "hostbound.stage"     // Header.Stage
	KeyReports   = "hostbound.reports"   // Header.Reports
	KeyDomains   = "hostbound.domains"   // Header.Domains
	KeyIsolation = "hostbound.isolation" // Header.Isolation, if not nil
	// KeyWarnings is for warnings of filters, beside the warnings of reports. They are
	// known only at the end: the seal of a stream and the footer of a checkpoint have
	// them.
	KeyWarnings = "hostbound.warnings"
	// KeyValues is for kinds and classes in a checkpoint that its writer did not know
	// (UnknownValues). A stream has them in its dictionaries.
	KeyValues = "hostbound.values"
)

// SchemaName is the value of KeySchema.
const SchemaName = "events"

// MetadataKeys are the keys in the order in which they are written.
var MetadataKeys = []string{KeySchema, KeyVersion, KeyStage, KeyReports, KeyDomains, KeyIsolation, KeyWarnings, KeyValues}

// Metadata returns the header as strings by key, Extra included.
func (h *Header) Metadata() map[string]string {
	reports, domains := h.Reports, h.Domains
	if reports == nil {
		reports = []Report{}
	}
	if domains == nil {
		domains = []string{}
	}
	m := map[string]string{}
	maps.Copy(m, h.Extra)
	m[KeySchema], m[KeyVersion], m[KeyStage] = SchemaName, strconv.Itoa(Version), h.Stage
	m[KeyReports], m[KeyDomains] = text(reports), text(domains)
	if h.Isolation != nil {
		m[KeyIsolation] = text(h.Isolation)
	}
	return m
}

// text returns v as JSON. It is for types of this package, which can always be encoded.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(b)
}

// ParseMetadata returns the header that strings by key describe. Unknown keys become
// Extra.
func ParseMetadata(meta map[string]string) (*Header, error) {
	if err := checkVersion(meta); err != nil {
		return nil, err
	}
	var values UnknownValues
	if err := parse(meta, KeyValues, &values); err != nil {
		return nil, err
	}
	values.add()
	h := &Header{Stage: meta[KeyStage], Extra: maps.Clone(meta)}
	maps.DeleteFunc(h.Extra, func(key, _ string) bool { return slices.Contains(MetadataKeys, key) })
	if len(h.Extra) == 0 {
		h.Extra = nil
	}
	for _, key := range []string{KeyReports, KeyDomains} {
		if _, ok := meta[key]; !ok {
			return nil, fmt.Errorf("not hostbound events: its metadata lack %s", key)
		}
	}
	return h, cmp.Or(parse(meta, KeyReports, &h.Reports), parse(meta, KeyDomains, &h.Domains), parse(meta, KeyIsolation, &h.Isolation))
}

// checkVersion returns an error unless the metadata are those of events in a readable
// version.
func checkVersion(meta map[string]string) error {
	if name, ok := meta[KeySchema]; !ok {
		return fmt.Errorf("not hostbound events: its metadata lack %s", KeySchema)
	} else if name != SchemaName {
		return fmt.Errorf("not hostbound events: it holds %q", name)
	}
	number := meta[KeyVersion]
	version, err := strconv.Atoi(number)
	switch {
	case err != nil || version < 1:
		return fmt.Errorf("not hostbound events: %s is %q", KeyVersion, number)
	case version > Version:
		return &Error{
			Msg:    fmt.Sprintf("it holds events of version %d: this program reads up to version %d", version, Version),
			Advice: "use the version of hostbound that wrote them, or a newer one",
		}
	}
	return nil
}

// ValuesText returns the value of KeyValues.
func ValuesText(v *UnknownValues) string { return text(v) }

// WarningsText returns the value of KeyWarnings.
func WarningsText(warnings []string) string { return text(warnings) }

// ParseWarnings returns the warnings in a value of KeyWarnings.
func ParseWarnings(text []byte) (warnings []string, err error) {
	if err := json.Unmarshal(text, &warnings); err != nil {
		return nil, fmt.Errorf("%s: %w", KeyWarnings, err)
	}
	return warnings, nil
}

// parse reads the JSON of a key into v, and leaves v as it is if the key is missing.
func parse(meta map[string]string, key string, v any) error {
	text, ok := meta[key]
	if !ok {
		return nil
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return fmt.Errorf("not hostbound events: %s: %w", key, err)
	}
	return nil
}

// UnmarshalJSON also reads reports from when Nsight Systems was the only source: their
// key "nsys" holds its version.
func (r *Report) UnmarshalJSON(text []byte) error {
	type Fields Report // without this method, to avoid recursion
	read := struct {
		*Fields
		Nsys string `json:"nsys"`
	}{Fields: (*Fields)(r)}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	if read.Nsys != "" {
		r.Source, r.Version = "nsys", read.Nsys
	}
	return nil
}
