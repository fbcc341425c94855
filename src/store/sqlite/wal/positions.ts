// The end of the write-ahead log (WAL) and how far it is processed, in memory shared by the ingress thread, which writes the WAL, and the main
// thread, which reads it.

/** The end of the WAL, or a place in it. */
export interface Position {
  /** The last delivery before this place; 0 at the beginning. */
  readonly seq: number
  /** Sum of all bodies before this place. */
  readonly bytes: number
}

export interface WalPositions {
  readonly shared: SharedArrayBuffer
  /** The last delivery that is durable: nothing beyond it may be read. */
  readonly end: Position
  /** All deliveries up to this one are processed, and the store has recorded it on the disk: they are not needed any more, whatever happens. */
  readonly processed: number
  /** Since when deliveries are pending and none can be read, `process.hrtime` in ms; 0: all is well. */
  readonly stuckSince: number
  /** How often the writer has checked that all of its files are in place, after writing again those that were not. */
  readonly looks: number
  moveEnd(to: Position): void
  moveProcessed(to: number): void
  noteStuck(since: number): void
  noteLook(): void
}

const place = { endSeq: 0, endBytes: 1, processed: 2, stuckSince: 3, looks: 4 }

export function walPositions(shared = new SharedArrayBuffer(5 * BigInt64Array.BYTES_PER_ELEMENT)): WalPositions {
  const places = new BigInt64Array(shared)
  const read = (at: number): number => Number(Atomics.load(places, at))
  const write = (at: number, value: number): void => void Atomics.store(places, at, BigInt(value))
  return {
    shared,
    get end() {
      return { seq: read(place.endSeq), bytes: read(place.endBytes) }
    },
    get processed() {
      return read(place.processed)
    },
    get stuckSince() {
      return read(place.stuckSince)
    },
    get looks() {
      return read(place.looks)
    },
    moveEnd: to => {
      write(place.endBytes, to.bytes)
      write(place.endSeq, to.seq)
    },
    moveProcessed: to => write(place.processed, to),
    noteStuck: since => write(place.stuckSince, since),
    noteLook: () => void Atomics.add(places, place.looks, 1n),
  }
}
