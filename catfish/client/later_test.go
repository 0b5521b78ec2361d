package client

import (
	"github.com/catfish-index/catfish/catfish/model"
)

var allTransports = []string{model.TransportSHM, model.TransportSoft, model.TransportTCP}
