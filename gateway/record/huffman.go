package record

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"sync"
)

const (
	endOfBlock   = 256
	lengthBase   = 257 // symbol of the shortest match
	literalCodes = 286
	distCodes    = 30
	maxCodeBits  = 15
	minMatch     = 4 // three bytes are shorter as digits than as a match
	maxMatch     = 258
	maxDistance  = 32 << 10
)

// code is the bits of a symbol, lowest first, and how many.
type code struct {
	bits uint32
	n    uint8
}

// codes is a Huffman code for literals, lengths and distances. The usual compressor counts each block's symbols
// and makes a code for it; ours is the same for all blocks, since it is always the same kind of text, and so is the
// header that describes it.
type codes struct {
	literal [literalCodes]code
	length  [maxMatch + 1]code // by length; the extra bits included
	dist    [distCodes]code    // without extra bits
	header  []code             // of a block that uses this code and is the last one

	// Numbers, of which each line has some: a step for three digits.
	short  [1000]number // 0 to 999
	padded [1000]number // 000 to 999
	hex    [256]number  // 00 to ff
}

// number is up to four digits, of ten or of sixteen: their code and their text.
type number struct {
	bits, text uint32 // first digit lowest
	n, digits  uint8
}

// traceCodes is the code for our lines.
var traceCodes = sync.OnceValue(func() *codes {
	var weights [literalCodes]int
	weigh := func(weight int, symbols string) {
		for i := range len(symbols) {
			weights[symbols[i]] = weight
		}
	}
	// What remains of a line when its names have been matched is digits: of 1,000 symbols some 750. One
	// appears in each seat time that is not 0, and tenants that are new are hex.
	for i := range weights {
		weights[i] = 1
	}
	weigh(16, "ghijklmnopqrstuvwxyz_-:@ABCDEFGHIJKLMNOPQRSTUVWXYZ\n")
	weigh(150, "abcdef,")
	weigh(800, "0123456789")
	weigh(500, ".")
	for i := range 12 { // lengths 10 to 50: a match spans a name or two
		weights[lengthBase+7+i] = 200
	}
	var dists [distCodes]int
	for i := range dists {
		dists[i] = 1 + 3*i // twice as many symbols at each second code, but the near ones are more likely
	}
	return makeCodes(weights[:], dists[:])
})

func makeCodes(literal, dist []int) *codes {
	c := &codes{}
	literalBits, distBits := codeLengths(literal), codeLengths(dist)
	copy(c.literal[:], canonical(literalBits))
	copy(c.dist[:], canonical(distBits))
	for n := 3; n <= maxMatch; n++ {
		symbol, extra, extraBits := lengthSymbol(n)
		l := c.literal[symbol]
		c.length[n] = code{l.bits | extra<<l.n, l.n + extraBits}
	}
	c.header = blockHeader(literalBits, distBits)
	for n := range 1000 {
		c.short[n] = c.number(strconv.Itoa(n))
		c.padded[n] = c.number(fmt.Sprintf("%03d", n))
	}
	for n := range 256 {
		c.hex[n] = c.number(fmt.Sprintf("%02x", n))
	}
	return c
}

// number is the code of digits, of at most eight bits each.
func (c *codes) number(text string) number {
	d := number{digits: uint8(len(text))}
	for i := range len(text) {
		l := c.literal[text[i]]
		d.bits |= l.bits << d.n
		d.n += l.n
		d.text |= uint32(text[i]) << (8 * i)
	}
	return d
}

// lengthSymbol is the symbol of a match's length and its extra bits, as RFC 1951 has them.
func lengthSymbol(n int) (symbol int, extra uint32, extraBits uint8) {
	switch v := n - 3; {
	case n == maxMatch:
		return 285, 0, 0
	case v < 8:
		return lengthBase + v, 0, 0
	default:
		b := bits.Len(uint(v)) - 3
		return lengthBase + 4*b + v>>b, uint32(v & (1<<b - 1)), uint8(b)
	}
}

// distSymbol is the symbol of a match's distance and its extra bits.
func distSymbol(d int) (symbol int, extra uint32, extraBits uint8) {
	v := uint(d - 1)
	if v < 4 {
		return int(v), 0, 0
	}
	b := bits.Len(v) - 2
	return 2*b + int(v>>b), uint32(v & (1<<b - 1)), uint8(b)
}

// blockHeader describes the code to the reader: for each symbol how many bits it has. Those numbers have themselves
// a code; ours gives four bits to each of 0 to 15, and leaves the three symbols for runs unused. That is 170
// bytes, the same for all blocks.
func blockHeader(literalBits, distBits []uint8) []code {
	h := []code{
		{1, 1},                  // the last block
		{2, 2},                  // with a code of its own
		{literalCodes - 257, 5}, // as many literals
		{distCodes - 1, 5},
		{19 - 4, 4},
		{0, 9}, // 16, 17, 18 are unused
	}
	for range 16 {
		h = append(h, code{4, 3})
	}
	lengths := make([]uint8, 16)
	for i := range lengths {
		lengths[i] = 4
	}
	four := canonical(lengths)
	for _, n := range slices.Concat(literalBits, distBits) {
		h = append(h, four[n])
	}
	return h
}

// codeLengths is Huffman's algorithm: how many bits each symbol gets by its weight. Weights are above 0, and none
// so much above another that a code exceeds maxCodeBits.
func codeLengths(weights []int) []uint8 {
	type node struct {
		weight, parent int
	}
	n := len(weights)
	nodes := make([]node, 0, 2*n-1)
	order := make([]int, n) // leaves by weight
	for i, w := range weights {
		nodes = append(nodes, node{weight: w})
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[a], weights[b]) })
	leaf, inner := 0, n // the lightest not yet joined of each kind: inner nodes come by weight
	lightest := func() int {
		if leaf < n && (inner >= len(nodes) || weights[order[leaf]] <= nodes[inner].weight) {
			leaf++
			return order[leaf-1]
		}
		inner++
		return inner - 1
	}
	for range n - 1 {
		a, b := lightest(), lightest()
		nodes[a].parent, nodes[b].parent = len(nodes), len(nodes)
		nodes = append(nodes, node{weight: nodes[a].weight + nodes[b].weight})
	}
	depth := make([]uint8, len(nodes))
	for i := len(nodes) - 2; i >= 0; i-- {
		depth[i] = depth[nodes[i].parent] + 1
	}
	return depth[:n]
}

// canonical gives out the codes that belong to the lengths: in the order of length, then of symbol.
func canonical(lengths []uint8) []code {
	var count, next [maxCodeBits + 2]uint16
	for _, n := range lengths {
		count[n]++
	}
	for n := 1; n <= maxCodeBits; n++ {
		next[n+1] = (next[n] + count[n]) << 1
	}
	out := make([]code, len(lengths))
	for i, n := range lengths {
		out[i] = code{uint32(bits.Reverse16(next[n]) >> (16 - n)), n}
		next[n]++
	}
	return out
}
