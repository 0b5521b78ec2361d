package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
)

// Several groups of servers have one store together: the map says which group has what
// (docs/decisions/many-groups.md). A client asks any member for it by a request of kind map,
// which also says by which map the client sends its next requests over this connection:
//
//	request  epoch u64, version u64   of the client's map; 0, 0: it has none yet
//	answer   Cluster (JSON), without the map if the client has that version
//
// A request of many ids (ByMap) over a connection with another epoch than the
// server's is refused with fault.ErrMoved: the client asks for the map again. Over a
// connection without an epoch, as those of older clients, it is refused if there are
// several groups.

// ClusterHello is in the hello of a server that has a map.
type ClusterHello struct {
	Epoch   uint64 `json:"epoch,string"`
	Version uint64 `json:"version,string"`
	Groups  int    `json:"groups"`
}

// Cluster is the map as a server has read it, and where the groups are.
type Cluster struct {
	// Epoch is the version at which a part of the data had another owner last.
	Epoch   uint64 `json:"epoch,string"`
	Version uint64 `json:"version,string"`
	// Map is encoded by package placement.
	Map json.RawMessage `json:"map,omitempty"`
	// Groups are those that have, or may have, anything; in any order.
	Groups []ClusterGroup `json:"groups"`
}

// ClusterGroup is a group's name, and the addresses (host:port) of its members.
type ClusterGroup struct {
	Name    string   `json:"name"`
	Members []string `json:"members"`
}

// Limits of a Cluster: as many groups as a map has, as many addresses as a client asks.
const (
	maxClusterGroups  = 64
	maxClusterMembers = 16
	maxClusterBytes   = 512 << 10
)

// Hello is what the hello has of it, nil: there is none.
func (c *Cluster) Hello() *ClusterHello {
	if c == nil {
		return nil
	}
	return &ClusterHello{c.Epoch, c.Version, len(c.Groups)}
}

// MapRequest is the payload of a KindMap.
type MapRequest struct{ Epoch, Version uint64 }

// MapRequestBytes is the size of an encoded MapRequest.
const MapRequestBytes = 16

// Append appends the encoded form.
func (r MapRequest) Append(b []byte) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, r.Epoch), r.Version)
}

// GetMapRequest decodes a KindMap.
func GetMapRequest(b []byte) (r MapRequest, err error) {
	if len(b) != MapRequestBytes {
		return r, fmt.Errorf("%w: request for the map of %d bytes, want %d", model.ErrProtocol, len(b), MapRequestBytes)
	}
	r = MapRequest{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
	if r.Epoch > r.Version {
		return r, fmt.Errorf("%w: epoch %d of a map of version %d", model.ErrProtocol, r.Epoch, r.Version)
	}
	return r, nil
}

// AppendCluster appends the answer to a client that has a version of the map.
func AppendCluster(b []byte, c *Cluster, has uint64) ([]byte, error) {
	answer := *c
	if has == c.Version {
		answer.Map = nil
	}
	text, err := json.Marshal(answer)
	return append(b, text...), err
}

// GetCluster decodes the answer to a KindMap.
func GetCluster(b []byte) (*Cluster, error) {
	if len(b) > maxClusterBytes {
		return nil, fmt.Errorf("%w: a map and its groups of %d bytes, want at most %d", model.ErrProtocol, len(b), maxClusterBytes)
	}
	c := new(Cluster)
	if err := json.Unmarshal(b, c); err != nil {
		return nil, fmt.Errorf("%w: map: %w", model.ErrProtocol, err)
	}
	if c.Epoch == 0 || c.Epoch > c.Version || len(c.Groups) == 0 || len(c.Groups) > maxClusterGroups {
		return nil, fmt.Errorf("%w: a map of version %d, epoch %d, %d groups, want 1 to %d",
			model.ErrProtocol, c.Version, c.Epoch, len(c.Groups), maxClusterGroups)
	}
	for i := range c.Groups {
		if g := &c.Groups[i]; g.Name == "" || len(g.Members) > maxClusterMembers {
			return nil, fmt.Errorf("%w: group %q with %d members, want a name and at most %d",
				model.ErrProtocol, g.Name, len(g.Members), maxClusterMembers)
		}
	}
	return c, nil
}

// ByMap reports whether a request is of many ids: its answer is a part of one that several
// groups give together, and right only if all of them give it by the same map.
func ByMap(k fastmsg.Kind) bool { return byMap[k] }

var byMap = func() (t [256]bool) {
	for _, k := range []fastmsg.Kind{
		KindSearch, KindCount, KindNearest, KindSearchMany, KindWithin,
		KindScan, KindFind, KindNear, KindCountFeatures, KindEraseWhere, KindWatch, KindDescribe,
	} {
		t[k] = true
	}
	return t
}()
