// How far the journal goes and how far it is understood: memory that the door's thread, which writes it, and the main thread,
// which reads it, share.

/** The end of the journal, or a place in it. */
export interface Mark {
  /** The last delivery before it; 0 before the first. */
  readonly seq: number
  /** Bytes of all bodies up to it. */
  readonly bytes: number
}

export interface JournalMarks {
  readonly shared: SharedArrayBuffer
  /** The last delivery that is on the disk: nothing beyond it may be read. */
  readonly end: Mark
  /** Every delivery up to this one is understood, and the store knows it: nothing up to it is read any more. */
  readonly understood: number
  /** Since when nothing can be read although something waits, by the clock of `process.hrtime` in ms; 0: it can. */
  readonly stuckSince: number
  /** How often the writer has found everything it knows of in its place, or put it back there. */
  readonly looks: number
  moveEnd(to: Mark): void
  moveUnderstood(to: number): void
  noteStuck(since: number): void
  noteLook(): void
}

const place = { endSeq: 0, endBytes: 1, understood: 2, stuckSince: 3, looks: 4 }

export function journalMarks(shared = new SharedArrayBuffer(5 * BigInt64Array.BYTES_PER_ELEMENT)): JournalMarks {
  const places = new BigInt64Array(shared)
  const read = (at: number): number => Number(Atomics.load(places, at))
  const write = (at: number, value: number): void => void Atomics.store(places, at, BigInt(value))
  return {
    shared,
    get end() {
      return { seq: read(place.endSeq), bytes: read(place.endBytes) }
    },
    get understood() {
      return read(place.understood)
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
    moveUnderstood: to => write(place.understood, to),
    noteStuck: since => write(place.stuckSince, since),
    noteLook: () => void Atomics.add(places, place.looks, 1n),
  }
}
