package suite

import (
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/agentsuite/agentsuite-llb/suite/strictjson"
)

// decode stores what a document holds in the Go value that into points to.
//
// It stands in for encoding/json for three reasons: the document has been parsed already, names count
// exactly as they are written, and above all a document with faults is decoded as far as it can be
// relied on. A scalar that the faults, given by their pointers, concern is left out, so that whoever
// checks it further takes an empty value for "not known" and reports no consequences.
func decode(doc *strictjson.Document, faults []string, into any) {
	d := decoder{}
	if len(faults) > 0 {
		d.faults = make(map[string]bool, len(faults))
		for _, pointer := range faults {
			d.faults[pointer] = true
		}
	}
	d.store(doc.Root, reflect.ValueOf(into).Elem(), "")
}

type decoder struct {
	faults map[string]bool
}

// below extends a pointer, which only a document with faults needs.
func (d *decoder) below(pointer string, token any) string {
	if d.faults == nil {
		return ""
	}
	return pointer + strictjson.Pointer(token)
}

func (d *decoder) store(v *strictjson.Value, into reflect.Value, pointer string) {
	if into.Kind() == reflect.Pointer {
		if v.Kind != strictjson.Null {
			into.Set(reflect.New(into.Type().Elem()))
			d.store(v, into.Elem(), pointer)
		}
		return
	}
	switch v.Kind {
	case strictjson.Object:
		if into.Kind() == reflect.Struct {
			fields := fieldsOf(into.Type())
			for i := range v.Members {
				m := &v.Members[i]
				if field, ok := fields[m.Name]; ok {
					d.store(m.Value, into.FieldByIndex(field), d.below(pointer, m.Name))
				}
			}
		}
	case strictjson.Array:
		if into.Kind() == reflect.Slice {
			into.Set(reflect.MakeSlice(into.Type(), len(v.Items), len(v.Items)))
			for i, item := range v.Items {
				d.store(item, into.Index(i), d.below(pointer, i))
			}
		}
	default:
		if !d.faults[pointer] {
			storeScalar(v, into)
		}
	}
}

func storeScalar(v *strictjson.Value, into reflect.Value) {
	switch {
	case v.Kind == strictjson.String && into.Kind() == reflect.String:
		into.SetString(v.Text)
	case v.Kind == strictjson.Bool && into.Kind() == reflect.Bool:
		into.SetBool(v.Bool)
	case v.Kind == strictjson.Number && into.CanInt():
		if n, err := strconv.ParseInt(v.Text, 10, into.Type().Bits()); err == nil {
			into.SetInt(n)
		}
	case v.Kind == strictjson.Number && into.CanUint():
		if n, err := strconv.ParseUint(v.Text, 10, into.Type().Bits()); err == nil {
			into.SetUint(n)
		}
	}
}

var fieldTables sync.Map // reflect.Type to map[string][]int

// fieldsOf finds a struct's fields by their JSON names, those of embedded structs included.
func fieldsOf(t reflect.Type) map[string][]int {
	if table, ok := fieldTables.Load(t); ok {
		return table.(map[string][]int)
	}
	table := map[string][]int{}
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			table[name] = field.Index
		}
	}
	fieldTables.Store(t, table)
	return table
}
