package console

import (
	"embed"
	"go/ast"
	"go/parser"
	position "go/token"
	"strings"
)

// The comments in these files are also what the OpenAPI document says of each type and field.
//
//go:embed callerview.go configtext.go control.go historyview.go problem.go registrationview.go session.go snapshot.go
var sources embed.FS

// comments are what the sources say of the types that are answered, by Type and Type.Field. It panics when
// they cannot be read: then the program could not have been built.
func comments() map[string]string {
	says := map[string]string{}
	files, err := sources.ReadDir(".")
	if err != nil {
		panic(err)
	}
	for _, file := range files {
		text, err := sources.ReadFile(file.Name())
		if err != nil {
			panic(err)
		}
		tree, err := parser.ParseFile(position.NewFileSet(), file.Name(), text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			panic(err)
		}
		for _, d := range tree.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != position.TYPE {
				continue
			}
			for _, spec := range g.Specs {
				if t := spec.(*ast.TypeSpec); t.Type != nil {
					says[t.Name.Name] = oneLine(g.Doc)
					commentsOfFields(says, t)
				}
			}
		}
	}
	return says
}

// commentsOfFields notes the comments of a struct's fields: those above and those beside.
func commentsOfFields(says map[string]string, t *ast.TypeSpec) {
	of, ok := t.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range of.Fields.List {
		for _, name := range f.Names {
			says[t.Name.Name+"."+name.Name] = strings.TrimSpace(oneLine(f.Doc) + " " + oneLine(f.Comment))
		}
	}
}

// oneLine is a comment on one line.
func oneLine(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
