// How far the write-ahead log (WAL) goes and how far it is processed: memory that the ingress's thread, which writes it, and the main thread,
// which reads it, share.

/** The end of the WAL, or a place in it. */
export interface Position {
  /** The last delivery before it; 0 before the first. */
  readonly seq: number
  /** Bytes of all bodies up to it. */
  readonly bytes: number
}

export interface WalPositions {
  readonly shared: SharedArrayBuffer
  /** The last delivery that is on the disk: nothing beyond it may be read. */
  readonly end: Position
  /** Every delivery up to this one is processed, and the store knows it: nothing up to it is read any more. */
  readonly processed: number
  /** Since when nothing can be read although something waits, by the clock of `process.hrtime` in ms; 0: it can. */
  readonly stuckSince: number
  /** How often the writer has found everything it knows of in its place, or put it back there. */
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
