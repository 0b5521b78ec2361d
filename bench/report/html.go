package report

import (
	"bytes"
	"fmt"
	"html/template"
	"regexp"
)

// page needs no other files: styles and plots are inside. Text has a readable
// width; plots and tables take the full width.
var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"svg": inline, "key": func(p Plot) string { return key(&p) },
}).Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}</title>
<style>
:root { --text: #111; --soft: #444; --line: #bbb; --page: #fff; --head: #f2f2f2; --link: #0050a0; }
@media screen and (prefers-color-scheme: dark) {
  :root { --text: #e4e4e4; --soft: #b4b4b4; --line: #555; --page: #17191c; --head: #24272b; --link: #8ab8ff; }
}
body { font: 15px/1.45 "Liberation Sans", Arial, Helvetica, sans-serif; color: var(--text);
  background: var(--page); margin: 1.5rem 2rem; }
a { color: var(--link); }
h2 { margin-top: 2.6rem; border-bottom: 1px solid var(--line); }
h3 { margin: 1.8rem 0 .4rem; }
p { max-width: 52rem; }
nav ul { list-style: none; padding: 0; columns: 24rem; }
nav li { break-inside: avoid; }
nav .l3 { padding-left: 1.4rem; font-size: 14px; }
nav .l4 { padding-left: 2.8rem; font-size: 14px; }
table { border-collapse: collapse; margin: .8rem 0; font-size: 13px; }
caption { text-align: left; padding: .3rem 0; }
th, td { border: 1px solid var(--line); padding: .15rem .45rem; text-align: left; vertical-align: top; }
th { background: var(--head); }
.scroll { overflow-x: auto; }
.warning { border: 2px solid var(--text); padding: .5rem .8rem; font-weight: bold; }
.row, .plots { display: grid; gap: 1rem; margin: 1rem 0; align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(30rem, 100%), 1fr)); }
@media (min-width: 66rem) { .row { grid-template-columns: repeat(var(--across), minmax(0, 1fr)); } }
figure { margin: 0; min-width: 0; max-width: 60rem; }
figure svg { width: 100%; height: auto; background: #fff; }
figcaption { font-size: 12px; color: var(--soft); }
pre { overflow-x: auto; }
@media print {
  body { margin: 0; } h2, h3 { break-after: avoid; } figure, tr { break-inside: avoid; }
  .row, .plots { grid-template-columns: repeat(2, minmax(0, 1fr)); } .scroll { overflow: visible; }
}
</style>
</head>
<body>
<h1>{{.Title}}</h1>
{{range .Warnings}}<p class="warning">{{.}}</p>
{{end}}{{if .Facts}}<table>
{{range .Facts}}<tr><th>{{.Name}}</th><td>{{.Value}}</td></tr>
{{end}}</table>
{{end}}{{if .Contents}}<nav aria-label="Contents"><ul>
{{range .Contents}}<li class="l{{.Level}}"><a href="#{{.ID}}">{{.Heading}}</a></li>
{{end}}</ul></nav>
{{end}}{{range .Chapters}}{{if eq .Level 2}}<h2 id="{{.ID}}">{{.Heading}}</h2>
{{else if eq .Level 3}}<h3 id="{{.ID}}">{{.Heading}}</h3>
{{else}}<h4 id="{{.ID}}">{{.Heading}}</h4>
{{end}}{{range .Text}}<p>{{.}}</p>
{{end}}{{range .Rows}}<div class="row" style="--across: {{len .}}">
{{range .}}{{template "figure" .}}{{end}}</div>
{{end}}{{if .Plots}}<div class="plots">
{{range .Plots}}{{template "figure" .}}{{end}}</div>
{{end}}{{range .Tables}}{{if .Code}}<pre>{{.Code}}</pre>
{{end}}<div class="scroll"><table>
{{if .Caption}}<caption>{{.Caption}}</caption>
{{end}}<tr>{{range .Head}}<th>{{.}}</th>{{end}}</tr>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</table></div>
{{end}}{{end}}</body>
</html>
{{define "figure"}}<figure>{{svg .}}<figcaption>{{key .}}</figcaption></figure>
{{end}}`))

func html(d *Document, all []chapter) ([]byte, error) {
	view := struct {
		*Document
		Chapters, Contents []chapter
	}{Document: d, Chapters: all}
	if len(all) > fewChapters {
		view.Contents = all
	}
	var b bytes.Buffer
	if err := page.Execute(&b, view); err != nil {
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
