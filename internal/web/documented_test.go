package web

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
)

// For every request of a test, the OpenAPI document has the status and the media type
// of the answer (/conf/oas30/completeness): do calls documented each time.

// operationAt is the document's operation for a request.
func operationAt(doc object, r *http.Request) (op object, ok bool) {
	method := strings.ToLower(r.Method)
	if method == "head" {
		method = "get"
	}
	parts := strings.Split(r.URL.EscapedPath(), "/")
	for path, methods := range doc["paths"].(object) {
		fits := func(part, of string) bool { return part == of || part != "" && strings.HasPrefix(of, "{") }
		if slices.EqualFunc(parts, strings.Split(path, "/"), fits) {
			op, ok = methods.(object)[method].(object)
			return op, ok
		}
	}
	return nil, false
}

func (w *site) documented(r *http.Request, res *http.Response) {
	w.t.Helper()
	doc := (&request{Server: w.Server, r: newRequest()}).document(nil)
	op, ok := operationAt(doc, r)
	if !ok {
		return // a path or method that does not exist
	}
	answer, ok := op["responses"].(object)[fmt.Sprint(res.StatusCode)].(object)
	if !ok {
		w.t.Errorf("%s %.200s: status %d is not in the OpenAPI document", r.Method, r.URL, res.StatusCode)
		return
	}
	if name, is := answer["$ref"].(string); is {
		answer = doc["components"].(object)["responses"].(object)[strings.TrimPrefix(name, "#/components/responses/")].(object)
	}
	typ := res.Header.Get("Content-Type")
	contents, _ := answer["content"].(object)
	if typ == "" && len(contents) == 0 {
		return
	}
	for documented := range contents {
		a, _, _ := mime.ParseMediaType(documented)
		if b, _, _ := mime.ParseMediaType(typ); a == b {
			return
		}
	}
	w.t.Errorf("%s %.200s: %d of type %q is not in the OpenAPI document", r.Method, r.URL, res.StatusCode, typ)
}
