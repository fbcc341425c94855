// The official serializers, and what they cannot write put right in their bytes: whole doubles, which they write as integers, and
// Unix nanoseconds, which no number holds. Our own messages are held against them.
import type { Attributes } from '@opentelemetry/api'

/** In protobuf a name is followed by: field 2, 9 bytes, and in these field 4 (a double) of AnyValue. */
const doubles = ['coverage', '.run.cost'].map(tail =>
  Buffer.concat([Buffer.from(tail), Buffer.from([0x12, 0x09, 0x21])]),
)
const nanos = ['job.created_at', '.cicd.pipeline.task.run.created_at', '.cicd.pipeline.run.committed_at'].map(name =>
  Buffer.from(`${name}\u0012`),
)

/** A whole double goes in as its neighbour above, which is no whole number; its last bit is cleared in the bytes. */
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
      // The length, and field 3 (an int64) of AnyValue.
      if (bytes[at + 1] === 0x18) putExact(bytes.subarray(at + 2, at + 1 + bytes[at]!))
    }
  }
  return bytes
}

/** The multiple of a millisecond next to a varint, in as many bytes. */
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

/** The whole double whose neighbour this is; every other double itself. */
function settled(value: number): number {
  const below = Number.isFinite(value) && !Number.isInteger(value) ? neighbour(value, -1n) : value
  return Number.isInteger(below) ? below : value
}

/** The double so many steps further from zero. */
function neighbour(value: number, steps: bigint): number {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  view.setBigUint64(0, view.getBigUint64(0) + steps)
  return view.getFloat64(0)
}
