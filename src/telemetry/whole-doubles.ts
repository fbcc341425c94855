// Doubles that happen to be whole. The serializers write every whole number as an integer, so a coverage of 88.0 would change
// its type from one pipeline to the next, and a backend that took its first value for an integer would refuse 88.5.
//
// Our own protobuf needs none of this. For the official JSON a whole double goes in as its nearest neighbour above, which is no
// whole number and is written as a double, and what comes out is put right: the neighbour's last bit is cleared again. Nobody ever
// sees the neighbour.
import type { Attributes } from '@opentelemetry/api'
import { jobAttributes } from './mapping/job.ts'
import { vendorPrefix } from './attributes.ts'

/** How the names of doubles end, under whatever vendor namespace. */
const tails = jobAttributes
  .filter(({ type }) => type === 'double')
  .flatMap(({ keys }) => keys.map(key => (key.startsWith(vendorPrefix) ? key.slice(vendorPrefix.length - 1) : key)))

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

/** Puts the neighbours in a JSON message right, and writes whole numbers that a reader's number would not hold as text. */
export function settleJson(key: string, value: unknown): unknown {
  if (typeof value !== 'number') return value
  if (key === 'doubleValue') return settled(value)
  // As protobuf's JSON has it for int64: a reader's number would not hold it.
  return key === 'intValue' && !Number.isSafeInteger(value) ? String(value) : value
}

/** The whole double whose neighbour this is; every other double itself. */
export function settled(value: number): number {
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
