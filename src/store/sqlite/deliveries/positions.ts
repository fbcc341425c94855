// The end of the accepted deliveries and how far they are processed, in memory shared by the ingress thread, which writes them, and the main thread, which
// reads them.

/** The end of the deliveries, or a place among them. */
export interface Position {
  /** The last delivery before this place; 0 at the beginning. */
  readonly seq: number
  /** Sum of all bodies before this place. */
  readonly bytes: number
}

export interface DeliveryPositions {
  readonly shared: SharedArrayBuffer
  /** The last delivery that is durable: nothing beyond it may be read. */
  end: Position
  /** All deliveries up to this one are processed, and this is recorded on disk: they are no longer needed, even after a crash. */
  processed: number
  /** Since when deliveries are pending and none can be read, `process.hrtime` in ms; 0: deliveries can be read. */
  stuckSince: number
  /** The number of the file that is written to, and the first delivery that can be in it. */
  file: { readonly number: number; readonly begins: number }
  /** The number of a file that the main thread has found damaged: the ingress must begin another one. */
  damaged: number
}

const bytesOfAll = 7 * BigInt64Array.BYTES_PER_ELEMENT

export function deliveryPositions(shared = new SharedArrayBuffer(bytesOfAll)): DeliveryPositions {
  const array = new BigInt64Array(shared)
  const read = (at: number): number => Number(Atomics.load(array, at))
  const write = (at: number, value: number): void => void Atomics.store(array, at, BigInt(value))
  const one = (at: number) => ({ enumerable: true, get: () => read(at), set: (value: number) => write(at, value) })
  const positions = {
    shared,
    get end() {
      return { seq: read(0), bytes: read(1) }
    },
    set end({ seq, bytes }) {
      write(1, bytes)
      write(0, seq)
    },
    get file() {
      const begins = read(3)
      return { number: read(2), begins }
    },
    // The reader ignores the beginning of a file that is newer than the one it reads: otherwise it would give up missing deliveries too early.
    set file({ number, begins }) {
      write(3, begins)
      write(2, number)
    },
  }
  return Object.defineProperties(positions as DeliveryPositions, {
    processed: one(4),
    stuckSince: one(5),
    damaged: one(6),
  })
}
