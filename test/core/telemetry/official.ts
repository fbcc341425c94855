// Runs the official serializers, and corrects the values that they cannot encode: whole doubles, which they encode as integers, and Unix nanoseconds,
// which no JavaScript number can represent. Tests compare our own messages with the resulting bytes.
import type { Attributes } from '@opentelemetry/api'

/** In protobuf, the attribute's name is followed by field 2 with 9 bytes, which contain field 4 (a double) of AnyValue. */
const doubles = ['coverage', '.run.cost'].map(tail =>
  Buffer.concat([Buffer.from(tail), Buffer.from([0x12, 0x09, 0x21])]),
)
const nanos = ['job.created_at', '.cicd.pipeline.task.run.created_at', '.cicd.pipeline.run.committed_at'].map(name =>
  Buffer.from(`${name}\u0012`),
)

/**
 * Serializes with the official serializers. A whole double is replaced by the next larger double, which is not whole, and its last bit is then
 * cleared in the bytes.
 */
export function officially<T extends { readonly attributes: Attributes }>(
  subjects: readonly T[],
  serialize: (prepared: T[]) => Uint8Array | undefined,
): Buffer {
  const prepared = subjects.map(one => ({ ...one, attributes: withNeighbours(one.attributes) }))
  const bytes = Buffer.from(serialize(prepared) ?? new Uint8Array())
  for (const mark of doubles) {
    for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at)) {
      at += mark.length
      if (at + 8 <= bytes.length) bytes.writeDoubleLE(settled(bytes.readDoubleLE(at)), at)
    }
  }
  for (const mark of nanos) {
    for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at)) {
      at += mark.length
      // The value is encoded as its length, followed by field 3 (an int64) of AnyValue.
      if (bytes[at + 1] === 0x18) putExact(bytes.subarray(at + 2, at + 1 + bytes[at]!))
    }
  }
  return bytes
}

/** Rounds a varint to the nearest whole millisecond, without changing its number of bytes. */
function putExact(varint: Buffer): void {
  let value = varint.reduceRight((sum, byte) => (sum << 7n) | BigInt(byte & 0x7f), 0n)
  value = ((value + 500_000n) / 1_000_000n) * 1_000_000n
  for (let at = 0; at < varint.length; at += 1) {
    varint[at] = Number(value & 0x7fn) | (at + 1 < varint.length ? 0x80 : 0)
    value >>= 7n
  }
}

function withNeighbours(attributes: Attributes): Attributes {
  const moved = Object.entries(attributes).map(([key, value]) => {
    const isDouble = key.endsWith('coverage') || key.endsWith('.run.cost')
    return [key, isDouble && Number.isInteger(value) ? neighbour(value as number, 1n) : value]
  })
  return Object.fromEntries(moved) as Attributes
}

/** Returns the next double toward zero if it is whole. Otherwise returns the value unchanged. */
function settled(value: number): number {
  const below = Number.isFinite(value) && !Number.isInteger(value) ? neighbour(value, -1n) : value
  return Number.isInteger(below) ? below : value
}

/** Returns the double that is this many steps farther from zero. */
function neighbour(value: number, steps: bigint): number {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  view.setBigUint64(0, view.getBigUint64(0) + steps)
  return view.getFloat64(0)
}
