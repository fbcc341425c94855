// A set of 48-bit hashes as bytes: sorted, six bytes each. Random bits cannot be compressed further.

const width = 6

export function packHashes(hashes: ReadonlySet<number>): Uint8Array {
  const sorted = Float64Array.from(hashes).sort()
  const packed = Buffer.alloc(sorted.length * width)
  sorted.forEach((hash, index) => packed.writeUIntBE(hash, index * width, width))
  return packed
}

/** A binary search. */
export function hasHash(packed: Uint8Array, hash: number): boolean {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  let [from, to] = [0, Math.floor(bytes.length / width)]
  while (from < to) {
    const middle = (from + to) >> 1
    const found = bytes.readUIntBE(middle * width, width)
    if (found === hash) return true
    if (found < hash) from = middle + 1
    else to = middle
  }
  return false
}
