package server

import (
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/wire"
)

// recordRequests is a request of each kind, to collection 1.
func recordRequests() map[fastmsg.Kind][]byte {
	return map[fastmsg.Kind][]byte{
		wire.KindCreateRecords: append(wire.AppendRecordsOptions(nil, model.RecordsOptions{Items: 4}), "more"...),
		wire.KindGet:           wire.AppendKey(wire.AppendKey(wire.AppendHead(nil, 1, 2), []byte("k")), []byte("other")),
		wire.KindPut:           append(wire.AppendPut(wire.AppendRevision(wire.AppendHead(nil, 1, 0), 0), 0, 7, []byte("k")), "value"...),
		wire.KindAppend:        append(wire.AppendPut(wire.AppendRevision(wire.AppendHead(nil, 1, wire.IfPresent), 0), 0, 7, []byte("k")), "value"...),
		wire.KindAwait:         append(wire.AppendKey(wire.AppendHead(nil, 1, 1), []byte("k")), "value"...),
		wire.KindRemove:        append(wire.AppendRevision(wire.AppendHead(nil, 1, wire.IfRevision), 3), "k"...),
		wire.KindScan:          wire.AppendCursor(wire.AppendHead(nil, 1, 0), cuckoo.Cursor{}),
		wire.KindRenew:         wire.AppendRevision(wire.AppendHead(nil, 1, 1), 1<<40|1),
		wire.KindPart:          append(wire.AppendPart(wire.AppendHead(nil, 1, 3), 0, 5), "value"...),
	}
}
