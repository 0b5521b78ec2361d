package cel

import "cel.dev/cel-go/cel"

// foldCase is a function of strings: s.foldCase() is s by Unicode's full case
// folding, so that strings which differ in case alone become equal. It is the
// one function that CEL does not have: RE2's (?i) does not take ß for ss, and
// works with patterns only.
const foldCase = "foldCase"

// steps.go implements the function.
func foldCaseFunction() cel.EnvOption {
	return cel.Function(foldCase, cel.MemberOverload("string_fold_case", []*cel.Type{cel.StringType}, cel.StringType))
}
