// Doubles that happen to be whole. The serializers write every whole number as an integer, so a coverage of 88.0 would change
// its type from one pipeline to the next, and a backend that took its first value for an integer would refuse 88.5.
//
// So a whole double goes in as its nearest neighbour above, which is no whole number and is written as a double, and the
// bytes that come out are put right: the neighbour's last bit is cleared again. Nobody ever sees the neighbour.
import type { Attributes } from '@opentelemetry/api'
import { jobAttributes } from './attributes/job.ts'
import { vendorPrefix } from './attributes/table.ts'

/** How the names of doubles end, under whatever vendor namespace. */
const tails = jobAttributes
  .filter(({ type }) => type === 'double')
  .flatMap(({ keys }) => keys.map(key => (key.startsWith(vendorPrefix) ? key.slice(vendorPrefix.length - 1) : key)))

/** In protobuf such a name is followed by: field 2, 9 bytes, and in these field 4 (a double) of AnyValue. */
const marks = tails.map(tail => Buffer.concat([Buffer.from(tail), Buffer.from([0x12, 0x09, 0x21])]))

/** True for names whose values are doubles, also when they are whole. */
export function isDoubleKey(key: string): boolean {
  return tails.some(tail => key.endsWith(tail))
}

/** The same attributes, whole doubles moved up by their last bit; the very same object when there are none. */
export function withNeighbours(attributes: Attributes): Attributes {
  let moved: Attributes | undefined
  for (const key of Object.keys(attributes)) {
    const value = attributes[key]
    if (typeof value !== 'number' || !Number.isInteger(value) || !isDoubleKey(key)) continue
    moved ??= { ...attributes }
    moved[key] = neighbour(value, 1n)
  }
  return moved ?? attributes
}

/** Puts the neighbours in a protobuf message right, in place. */
export function settleBytes(message: Uint8Array): Uint8Array {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
  for (const mark of marks) {
    for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at)) {
      at += mark.length
      if (at + 8 <= bytes.length) bytes.writeDoubleLE(settled(bytes.readDoubleLE(at)), at)
    }
  }
  return message
}

/** Puts the neighbours in a JSON message right. */
export function settleJson(key: string, value: unknown): unknown {
  return key === 'doubleValue' && typeof value === 'number' ? settled(value) : value
}

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
