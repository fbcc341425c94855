// Which bodies are read at this moment: some at a time, the others wait in their sockets, where the system holds the sender back.
//
// A forged signature is only known to be wrong once the body is whole. Were a thousand such bodies read at once, each turn of the event
// loop would take so long that a newcomer, of whom one is accepted in a turn, is accepted too late, and none of them would come to its end.
// So whoever is read is read to the end, first come, first served, and is interrupted only when little comes of it while others wait.
//
// There is a line for each size that is announced, so that 25 KB never wait for a thousand times 25 MiB; and one more of each for senders
// who were right before. What is proven waits for nobody.
import { setImmediate as later } from 'node:timers'
import type { Standing } from './body-budget.ts'

/** What waits for its turn; all of it is called with nothing else under way. */
export interface Reader {
  /** From now on it may read. */
  readonly begin: () => void
  /** Little has come, and others wait: it stops, and asks again once there is more. */
  readonly pause: () => void
}

export interface Turn {
  /** Waits in the line until `begin` is called, which may be at once. */
  readonly ask: () => void
  /** So many bytes have come. */
  readonly took: (bytes: number) => void
  /** Nothing more is read; may be called twice. */
  readonly end: () => void
}

/** `length`: as it was announced; undefined when it was not. */
export type ReadingTurns = (standing: Standing, length: number | undefined, reader: Reader) => Turn

/** Bodies of at most so many bytes: how many are read at a time, and how many of these are begun in one turn of the event loop. */
const sizes = [
  { bytes: 256 * 1024, abreast: 4 },
  { bytes: 1024 * 1024, abreast: 2 },
  { bytes: Infinity, abreast: 1 },
]
/** Who has sent nothing for so many turns of the event loop is interrupted: nobody waits for it while others have something to read. */
const idle = 2
/** Who has had so many turns of the event loop, and so many ms, and sent less than this meanwhile, is interrupted. */
const enough = { turns: 4, ms: 10, bytes: 16_384 }

/** `now`: milliseconds of a monotonic clock. */
export function createReadingTurns(now: () => number): ReadingTurns {
  const linesOf = (): Line[] => sizes.map(({ abreast }) => createLine(abreast, now))
  const lines = { stranger: linesOf(), known: linesOf() }
  return (standing, length = Infinity, reader) => {
    if (standing === 'proven') return atOnce(reader)
    return lines[standing].at(sizes.findIndex(({ bytes }) => length <= bytes))?.(reader) ?? atOnce(reader)
  }
}

function atOnce({ begin }: Reader): Turn {
  return { ask: begin, took: () => undefined, end: () => undefined }
}

type Line = (reader: Reader) => Turn

interface Place {
  readonly reader: Reader
  since: number
  turns: number
  bytes: number
  /** Turns since something came. */
  idle: number
}

function createLine(abreast: number, now: () => number): Line {
  const reading = new Set<Place>()
  const waiting = new Set<Place>()
  /** In this turn of the event loop. */
  let begun = 0
  let comes = false

  function soon(): void {
    if (comes) return
    comes = true
    later(next)
  }

  function begin(place: Place): void {
    soon()
    begun += 1
    Object.assign(place, { since: now(), turns: 0, bytes: 0, idle: 0 })
    reading.add(place)
    place.reader.begin()
  }

  function next(): void {
    comes = false
    begun = 0
    if (waiting.size > 0) for (const place of reading) judge(place)
    for (const place of waiting) {
      if (reading.size >= abreast) break
      waiting.delete(place)
      begin(place)
    }
    if (waiting.size > 0) soon()
  }

  function judge(place: Place): void {
    place.turns += 1
    place.idle += 1
    const isOver = place.turns >= enough.turns && now() - place.since >= enough.ms
    if (place.idle > idle || (isOver && place.bytes < enough.bytes)) {
      reading.delete(place)
      place.reader.pause()
    } else if (isOver) Object.assign(place, { since: now(), turns: 0, bytes: 0 })
  }

  return reader => {
    const place: Place = { reader, since: 0, turns: 0, bytes: 0, idle: 0 }
    return {
      ask: () => {
        if (reading.size < abreast && begun < abreast && waiting.size === 0) {
          begin(place)
          return
        }
        waiting.add(place)
        soon()
      },
      took: bytes => {
        place.bytes += bytes
        place.idle = 0
      },
      end: () => {
        waiting.delete(place)
        reading.delete(place)
      },
    }
  }
}
