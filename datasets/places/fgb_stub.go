package places
import ("bufio";"errors")
var fgbMagic = []byte("fgb\x03fgb")
func newFlatGeobuf(in *bufio.Reader, id string) (source, error) { return nil, errors.New("x") }
