package ycsb

import (
	"errors"
	"fmt"
)

// ErrConfig is wrapped when a configuration has a value that is not allowed.
var ErrConfig = errors.New("ycsb: bad configuration")

// Theta is YCSB's skew of Zipfian and Latest.
const Theta = 0.99

const (
	// MaxScan is YCSB's longest scan; lengths are uniform from 1.
	MaxScan = 100
	// MaxValueBytes bounds the effect of a wrong number.
	MaxValueBytes = 1 << 30
)

// Config describes a workload. Equal configurations give equal operations on
// every machine.
type Config struct {
	Mix   Mix
	Dist  Dist
	Theta float64 // of Zipfian and Latest: 0 is uniform, YCSB's is [Theta]

	Keys uint64 // loaded beforehand, with numbers from 0; 1 to MaxKeys

	// Values have ValueBytes, 1 or more; or, if LargestValueBytes is not 0,
	// any size up to that one with equal probability.
	ValueBytes, LargestValueBytes int

	// Ordered leaves popular keys together: Zipfian's most popular key is
	// number 0, the next one number 1, and keys have the order of their
	// numbers. Without it popularity is scattered over the numbers, and keys
	// over the possible keys.
	Ordered bool

	// Lag is how many of a client's newest insertions Latest does not draw yet,
	// because they may be in flight. A client with n operations in flight needs
	// n-1 if it reads nothing before its insertion has completed.
	Lag int

	Seed uint64
}

// Standard returns the workload of a letter from A to F, with YCSB's
// distribution; Keys and ValueBytes remain to be set. Errors wrap ErrConfig.
func Standard(letter string) (Config, error) {
	m, err := ParseMix(letter)
	if err != nil || len(letter) != 1 {
		return Config{}, fmt.Errorf("%w: workload %s, want A to F", ErrConfig, quote(letter))
	}
	c := Config{Mix: m, Dist: Zipfian, Theta: Theta}
	if m == MixD {
		c.Dist = Latest
	}
	return c, nil
}

// Validate returns an error that wraps ErrConfig and names the value.
func (c Config) Validate() error {
	if err := c.Mix.check(); err != nil {
		return err
	}
	if c.Dist >= numDists {
		return fmt.Errorf("%w: unknown distribution %d", ErrConfig, c.Dist)
	}
	if _, err := NewZipf(c.Keys, c.Theta); err != nil {
		return err
	}
	if c.ValueBytes < 1 || c.ValueBytes > MaxValueBytes {
		return fmt.Errorf("%w: values of %d bytes, want 1 to %d", ErrConfig, c.ValueBytes, MaxValueBytes)
	}
	if l := c.LargestValueBytes; l != 0 && (l < c.ValueBytes || l > MaxValueBytes) {
		return fmt.Errorf("%w: values of up to %d bytes, want %d to %d",
			ErrConfig, l, c.ValueBytes, MaxValueBytes)
	}
	if c.Lag < 0 {
		return fmt.Errorf("%w: a lag of %d insertions, want 0 or more", ErrConfig, c.Lag)
	}
	return nil
}

// Key returns the key of a number. Keys of different numbers differ.
func (c *Config) Key(number uint64) Key {
	if c.Ordered {
		return digits(number)
	}
	return hashedKey(number)
}

// size returns the size of the value that is written with a sequence number.
func (c *Config) size(number, seq uint64) int {
	if c.LargestValueBytes == 0 {
		return c.ValueBytes
	}
	return c.ValueBytes + int(mix(number^mix(seq))%uint64(c.LargestValueBytes-c.ValueBytes+1))
}

// Op is one operation.
type Op struct {
	Kind   Kind
	Key    Key
	Number uint64 // of the key, as in Config.Key
	Scan   int    // keys to read, of a Scan
	// Of kinds that write: the operation writes Value(Key, Seq, Size). Seq is
	// different for each operation of all clients, and 0 for loaded values.
	Seq  uint64
	Size int
}

// Writer returns which client's operation has a sequence number, counting from
// 1; 0: the value was loaded. Those of one client ascend.
func Writer(seq uint64) uint64 { return seq >> ownerShift }

// AppendValue appends the value that the operation writes.
func (o *Op) AppendValue(dst []byte) []byte { return AppendValue(dst, o.Key, o.Seq, o.Size) }

// Load returns the insertion of a key, with a number below c.Keys, that is
// loaded before the operations begin. c is valid.
func (c *Config) Load(number uint64) Op {
	return Op{Kind: Insert, Key: c.Key(number), Number: number, Size: c.size(number, 0)}
}

// Ops is the endless sequence of operations of one client. Not safe for
// concurrent use.
type Ops struct {
	Config
	random   *Random
	zipf     *Zipf
	scatter  permutation
	owner    uint64 // of this client's insertions
	issued   uint64
	inserted uint64
}

// Ops returns the operations of a client, 0 to MaxClients-1. They depend on the
// configuration and the client's number only: each client draws from the loaded
// keys and from its own insertions. Errors wrap ErrConfig.
func (c Config) Ops(client int) (*Ops, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if client < 0 || client >= MaxClients {
		return nil, fmt.Errorf("%w: client %d, want 0 to %d", ErrConfig, client, MaxClients-1)
	}
	z, err := NewZipf(c.Keys, c.Theta)
	if err != nil {
		return nil, err
	}
	return &Ops{
		Config: c, random: NewRandom(c.Seed, uint64(client)), zipf: z,
		scatter: newPermutation(c.Keys, c.Seed), owner: uint64(client+1) << ownerShift,
	}, nil
}

// Next draws an operation. It does not allocate.
func (o *Ops) Next() Op {
	op := Op{Kind: o.kind()}
	o.issued++
	switch op.Kind {
	case Insert:
		op.Number = o.owner + o.inserted
		o.inserted++
	case Scan:
		op.Scan = 1 + int(o.random.below(MaxScan))
		fallthrough
	default:
		op.Number = o.draw()
	}
	op.Key = o.Key(op.Number)
	if op.Kind.Writes() {
		op.Seq = o.owner + o.issued
		op.Size = o.size(op.Number, op.Seq)
	}
	return op
}

func (o *Ops) kind() Kind {
	percent := int(o.random.below(100))
	for k, share := range o.Mix {
		if percent -= share; percent < 0 {
			return Kind(k)
		}
	}
	panic("ycsb: the shares were checked to add up to 100")
}

// draw returns the number of an existing key.
func (o *Ops) draw() uint64 {
	switch o.Dist {
	case Uniform:
		return o.random.below(o.Keys)
	case Zipfian:
		rank := o.zipf.Next(o.random)
		if o.Ordered {
			return rank
		}
		return o.scatter.at(rank)
	default: // Latest
		mine := o.inserted - min(o.inserted, uint64(o.Lag))
		o.zipf.Grow(o.Keys + mine)
		age := o.zipf.Next(o.random)
		if age < mine {
			return o.owner + mine - 1 - age
		}
		return o.Keys - 1 - (age - mine)
	}
}
