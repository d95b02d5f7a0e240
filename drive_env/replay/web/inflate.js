/* How are deflated bytes inflated if the browser has no DecompressionStream? (RFC 1950 and 1951) */

const LENGTH_BASE = [
  3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_EXTRA = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASE = [
  1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
  8193, 12289, 16385, 24577];
const DISTANCE_EXTRA = [
  0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
const CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const END_OF_BLOCK = 256;
const ZLIB_HEADER_BYTES = 2;

/* Reads bits, the lowest of each byte first. */
class BitReader {
  constructor(bytes, offset) {
    this.bytes = bytes;
    this.offset = offset;
    this.buffer = 0;
    this.bitCount = 0;
  }

  take(count) {
    while (this.bitCount < count) {
      this.buffer |= this.bytes[this.offset++] << this.bitCount;
      this.bitCount += 8;
    }
    const value = this.buffer & ((1 << count) - 1);
    this.buffer >>>= count;
    this.bitCount -= count;
    return value;
  }

  /* Reads a code bit by bit: shorter than a lookup table, and fast enough for megabytes. */
  symbol(tree) {
    let code = 0, first = 0, index = 0;
    for (let length = 1; length < tree.counts.length; length++) {
      code |= this.take(1);
      const count = tree.counts[length];
      if (code - count < first) return tree.symbols[index + code - first];
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    throw new Error("the recording in this page is damaged");
  }

  alignToByte() {
    this.offset -= this.bitCount >> 3;
    this.buffer = this.bitCount = 0;
  }
}

/* Canonical Huffman codes: those of one length are consecutive, so counts by length and sorted symbols define them. */
function codeTree(lengths) {
  const counts = new Uint16Array(16), next = new Uint16Array(17);
  for (const length of lengths) counts[length]++;
  counts[0] = 0;
  for (let length = 1; length <= 15; length++) next[length + 1] = next[length] + counts[length];
  const symbols = new Uint16Array(lengths.length);
  lengths.forEach((length, symbol) => {
    if (length) symbols[next[length]++] = symbol;
  });
  return {counts, symbols};
}

function fixedTrees() {
  const lengths = Array.from({length: 288}, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8));
  return [codeTree(lengths), codeTree(new Array(30).fill(5))];
}

function readTrees(bits) {
  const literalCount = bits.take(5) + 257, distanceCount = bits.take(5) + 1, codeCount = bits.take(4) + 4;
  const codeLengths = new Array(19).fill(0);
  for (let i = 0; i < codeCount; i++) codeLengths[CODE_ORDER[i]] = bits.take(3);
  const tree = codeTree(codeLengths), lengths = [];
  while (lengths.length < literalCount + distanceCount) {
    const symbol = bits.symbol(tree);
    if (symbol < 16) lengths.push(symbol);
    else {
      const repeated = symbol === 16 ? lengths[lengths.length - 1] : 0;
      const times = symbol === 16 ? 3 + bits.take(2) : symbol === 17 ? 3 + bits.take(3) : 11 + bits.take(7);
      for (let i = 0; i < times; i++) lengths.push(repeated);
    }
  }
  return [codeTree(lengths.slice(0, literalCount)), codeTree(lengths.slice(literalCount))];
}

/* A byte array that grows. */
class ByteSink {
  constructor(size) {
    this.bytes = new Uint8Array(size);
    this.length = 0;
  }

  reserve(count) {
    if (this.length + count <= this.bytes.length) return;
    const larger = new Uint8Array(2 * (this.length + count));
    larger.set(this.bytes);
    this.bytes = larger;
  }

  repeat(distance, count) {
    this.reserve(count);
    for (let i = 0; i < count; i++, this.length++) this.bytes[this.length] = this.bytes[this.length - distance];
  }

  push(byte) {
    this.reserve(1);
    this.bytes[this.length++] = byte;
  }
}

function copyStored(bits, sink) {
  bits.alignToByte();
  const count = bits.bytes[bits.offset] | (bits.bytes[bits.offset + 1] << 8);
  bits.offset += 4; // the length and its complement
  sink.reserve(count);
  sink.bytes.set(bits.bytes.subarray(bits.offset, bits.offset + count), sink.length);
  sink.length += count;
  bits.offset += count;
}

function inflateBlock(bits, [literals, distances], sink) {
  for (let symbol = bits.symbol(literals); symbol !== END_OF_BLOCK; symbol = bits.symbol(literals)) {
    if (symbol < END_OF_BLOCK) {
      sink.push(symbol);
      continue;
    }
    const count = LENGTH_BASE[symbol - 257] + bits.take(LENGTH_EXTRA[symbol - 257]);
    const distance = bits.symbol(distances);
    sink.repeat(DISTANCE_BASE[distance] + bits.take(DISTANCE_EXTRA[distance]), count);
  }
}

function inflate(bytes) {
  const bits = new BitReader(bytes, ZLIB_HEADER_BYTES), sink = new ByteSink(4 * bytes.length);
  for (let isLast = false; !isLast; ) {
    isLast = bits.take(1) === 1;
    const kind = bits.take(2);
    if (kind === 0) copyStored(bits, sink);
    else inflateBlock(bits, kind === 1 ? fixedTrees() : readTrees(bits), sink);
  }
  return sink.bytes.subarray(0, sink.length);
}
