package server

import (
	"github.com/catfish-index/catfish/rstar"
)

func square(x, y float64) rstar.Rect {
	return rstar.Rect{MinX: x, MinY: y, MaxX: x + 1, MaxY: y + 1}
}
