package report

import (
	"bytes"
	"fmt"
	"html/template"
	"regexp"
)

// page needs nothing from elsewhere: styles and plots are inside.
var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"svg": inline, "key": func(p Plot) string { return key(&p) },
}).Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<style>
body { font: 15px/1.45 "Liberation Sans", Arial, Helvetica, sans-serif; color: #111;
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.2rem; border-bottom: 1px solid #999; }
table { border-collapse: collapse; margin: .8rem 0; font-size: 13px; }
caption { text-align: left; padding: .3rem 0; }
th, td { border: 1px solid #bbb; padding: .15rem .45rem; text-align: left; vertical-align: top; }
.scroll { overflow-x: auto; }
.warning { border: 2px solid #111; padding: .5rem .8rem; font-weight: bold; }
figure { display: inline-block; margin: .6rem 0; max-width: 100%; }
figure svg { max-width: 100%; height: auto; }
figcaption { font-size: 12px; color: #333; }
@media print { body { max-width: none; margin: 0; } figure, tr { break-inside: avoid; } }
</style>
</head>
<body>
<h1>{{.Title}}</h1>
{{range .Warnings}}<p class="warning">{{.}}</p>
{{end}}{{if .Facts}}<table>
{{range .Facts}}<tr><th>{{.Name}}</th><td>{{.Value}}</td></tr>
{{end}}</table>
{{end}}{{range .Sections}}<h2>{{.Heading}}</h2>
{{range .Text}}<p>{{.}}</p>
{{end}}{{range .Plots}}<figure>{{svg .}}<figcaption>{{key .}}</figcaption></figure>
{{end}}{{range .Tables}}{{if .Code}}<pre>{{.Code}}</pre>
{{end}}<div class="scroll"><table>
{{if .Caption}}<caption>{{.Caption}}</caption>
{{end}}<tr>{{range .Head}}<th>{{.}}</th>{{end}}</tr>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</table></div>
{{end}}{{end}}</body>
</html>
`))

func html(d *Document) ([]byte, error) {
	var b bytes.Buffer
	if err := page.Execute(&b, d); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return b.Bytes(), nil
}

// prolog is what an SVG document has before its element, and a page must
// not have.
var prolog = regexp.MustCompile(`(?s)^.*?(<svg )`)

// inline is a plot for a page: our own drawing, whose texts the drawing
// library has escaped.
func inline(p Plot) (template.HTML, error) {
	b, err := p.SVG()
	if err != nil {
		return "", err
	}
	return template.HTML(prolog.ReplaceAll(b, []byte("$1"))), nil
}
