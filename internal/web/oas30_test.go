package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// The Abstract Test Suite's class /conf/oas30, and the tests of /conf/core that
// are about the document.

// lookup is what a path of names leads to.
func lookup(t *testing.T, doc any, names ...string) any {
	t.Helper()
	for _, n := range names {
		m, ok := doc.(map[string]any)
		if !ok || m[n] == nil {
			t.Fatalf("no %s in %.200v", n, doc)
		}
		doc = m[n]
	}
	return doc
}

// eachRef calls f with each $ref.
func eachRef(doc any, f func(string)) {
	switch v := doc.(type) {
	case map[string]any:
		for name, value := range v {
			if s, ok := value.(string); ok && name == "$ref" {
				f(s)
			}
			eachRef(value, f)
		}
	case []any:
		for _, value := range v {
			eachRef(value, f)
		}
	}
}

func TestATS_oas30_definition(t *testing.T) { // -1 and -2
	w := newSite(t, Options{Engine: newFakeRoom()})
	doc := w.json("/api")
	refs, used := 0, map[string]bool{}
	eachRef(doc, func(r string) {
		refs++
		used[r] = true
		lookup(t, doc, strings.Split(strings.TrimPrefix(r, "#/"), "/")...)
	})
	if refs < 50 {
		t.Errorf("%d references", refs)
	}
	for kind, all := range lookup(t, doc, "components").(map[string]any) {
		for name := range all.(map[string]any) {
			if !used["#/components/"+kind+"/"+name] {
				t.Errorf("components/%s/%s is not used", kind, name)
			}
		}
	}
	ids := map[any]bool{}
	for path, methods := range doc["paths"].(map[string]any) {
		for method, op := range methods.(map[string]any) {
			id := lookup(t, op, "operationId")
			if ids[id] {
				t.Errorf("%s %s: operationId %v is another's", method, path, id)
			}
			ids[id] = true
			lookup(t, op, "summary")
			if about, _ := lookup(t, op, "description").(string); about == "" {
				t.Errorf("%s %s: operation %v has no description", method, path, id)
			}
		}
	}
	if enum := lookup(t, doc, "components", "parameters", "collectionId", "schema", "enum"); fmt.Sprint(enum) != "[countries empty]" {
		t.Errorf("collections %v", enum)
	}
}

// servedPages are the methods and paths of all pages, as the document writes them. The
// assets belong to the page at /.
func (w *site) servedPages() (all []string) {
	for _, p := range slices.Concat(w.resources(), w.endless()) {
		path := strings.TrimSuffix(p.pattern, "{$}")
		if strings.HasSuffix(path, "{z}/{x}/{y}") {
			path += ".mvt" // No pattern can have that.
		}
		for method := range p.methods {
			if path != "/assets/{file}" {
				all = append(all, method+" "+path)
			}
		}
	}
	return all
}

// The document has each served path and method, and no other, and the parameters of
// each path.
func TestATS_oas30_completeness(t *testing.T) {
	for name, o := range map[string]Options{"without an engine": {}, "with one": {Engine: newFakeRoom()}} {
		t.Run(name, func(t *testing.T) { testCompleteness(t, newSite(t, o)) })
	}
}

func testCompleteness(t *testing.T, w *site) {
	doc := w.json("/api")
	var documented []string
	for path, methods := range doc["paths"].(map[string]any) {
		var has []string
		for method, op := range methods.(map[string]any) {
			documented = append(documented, strings.ToUpper(method)+" "+path)
			has = append(has, strings.ToUpper(method))
			var names []string
			for _, p := range lookup(t, op, "parameters").([]any) {
				parts := strings.Split(p.(map[string]any)["$ref"].(string), "/")
				names = append(names, parts[len(parts)-1])
			}
			for _, part := range strings.Split(path, "/") {
				if name, ok := strings.CutPrefix(part, "{"); ok && !slices.Contains(names, strings.TrimSuffix(strings.TrimSuffix(name, ".mvt"), "}")) {
					t.Errorf("%s %s has no parameter %s: %q", method, path, part, names)
				}
			}
		}
		target := strings.NewReplacer("{collectionId}", "countries", "{featureId}", "FJ").Replace(path)
		a := w.do(http.MethodOptions, target, "")
		slices.Sort(has)
		allowed := strings.Split(a.Header.Get("Allow"), ", ")
		allowed = slices.DeleteFunc(allowed, func(m string) bool { return m == "HEAD" || m == "OPTIONS" })
		slices.Sort(allowed)
		if !slices.Equal(has, allowed) {
			t.Errorf("%s: %q are in the document, %q are allowed", path, has, allowed)
		}
	}
	served := w.servedPages()
	slices.Sort(documented)
	slices.Sort(served)
	if !slices.Equal(documented, served) {
		t.Errorf("the document has\n\t%s,\nserved are\n\t%s", strings.Join(documented, "\n\t"), strings.Join(served, "\n\t"))
	}
}

// Each path that has a page for people exists, for each collection that the document
// names. Every request tests that answers are as documented (documented).
func TestATS_oas30_oas_impl(t *testing.T) {
	w := newSite(t, Options{})
	w.points(1)
	doc := w.json("/api")
	features := map[string]string{"countries": "FJ", "empty": "p000"}
	pages := 0
	for path, methods := range doc["paths"].(map[string]any) {
		get, ok := methods.(map[string]any)["get"].(map[string]any)
		if !ok || !hasPage(doc, get) {
			continue
		}
		pages++
		for _, name := range lookup(t, doc, "components", "parameters", "collectionId", "schema", "enum").([]any) {
			target := strings.NewReplacer("{collectionId}", name.(string), "{featureId}", features[name.(string)]).Replace(path)
			for _, f := range []string{"?", "?f=json&", "?f=html&"} {
				if path == nearestPattern {
					f += "point=0,0" // the only required parameter
				}
				if a := w.get(target + f); !strings.Contains(target, "{") && a.StatusCode != http.StatusOK {
					t.Errorf("GET %s%s: %s", target, f, a.Status)
				}
			}
		}
	}
	if pages < 9 {
		t.Errorf("%d pages", pages)
	}
}

// hasPage reports whether an operation's answer may be HTML.
func hasPage(doc map[string]any, op map[string]any) bool {
	answer, _ := op["responses"].(map[string]any)["200"].(map[string]any)
	if name, ok := answer["$ref"].(string); ok {
		answer, _ = doc["components"].(map[string]any)["responses"].(map[string]any)[strings.TrimPrefix(name, "#/components/responses/")].(map[string]any)
	}
	contents, _ := answer["content"].(map[string]any)
	return contents[typeHTML] != nil
}

func TestATS_oas30_exception_codes(t *testing.T) {
	w := newSite(t, Options{})
	for path, methods := range w.json("/api")["paths"].(map[string]any) {
		for method, op := range methods.(map[string]any) {
			want := []string{"400", "500", "503"}
			if strings.Contains(path, "{") {
				want = append(want, "404")
			}
			for _, code := range want {
				lookup(t, op, "responses", code)
			}
			if method == "get" {
				lookup(t, op, "responses", "200")
			}
		}
	}
}

func TestATS_oas30_security(t *testing.T) {
	keys, _ := testKeys(t, "*:read")
	for _, o := range []Options{{}, {Keys: keys}} {
		w := newSite(t, o)
		q := &request{Server: w.Server, r: newRequest()}
		doc := q.document(nil)
		_, schemes := doc["components"].(object)["securitySchemes"]
		op := doc["paths"].(object)["/collections"].(object)["get"].(object)
		if has := len(op["security"].([]object)) > 0; has != (o.Keys != nil) || schemes != has {
			t.Errorf("keys %v: security %v", o.Keys != nil, has)
		}
	}
}

func TestATS_core_definitions(t *testing.T) { // fc-bbox-, fc-limit-, fc-time-definition
	w := newSite(t, Options{})
	doc := w.json("/api")
	refs := fmt.Sprint(lookup(t, doc, "paths", "/collections/{collectionId}/items", "get", "parameters"))
	param := func(name string, path ...string) string {
		return fmt.Sprint(lookup(t, doc, append([]string{"components", "parameters", name}, path...)...))
	}
	for _, name := range []string{"bbox", "limit", "datetime"} {
		if !strings.Contains(refs, "#/components/parameters/"+name) || param(name, "in") != "query" || param(name, "name") != name ||
			param(name, "required") != "false" || param(name, "style") != "form" || param(name, "explode") != "false" {
			t.Errorf("%s: %v", name, lookup(t, doc, "components", "parameters", name))
		}
	}
	if param("bbox", "schema", "type") != "array" || param("bbox", "schema", "items", "type") != "number" ||
		param("bbox", "schema", "oneOf") != "[map[maxItems:4 minItems:4] map[maxItems:6 minItems:6]]" {
		t.Error(param("bbox"))
	}
	if param("limit", "schema", "minimum") != "1" || param("limit", "schema", "maximum") != "10000" ||
		param("limit", "schema", "default") != "10" || param("limit", "schema", "type") != "integer" {
		t.Error(param("limit"))
	}
	if param("datetime", "schema", "type") != "string" {
		t.Error(param("datetime"))
	}
}
