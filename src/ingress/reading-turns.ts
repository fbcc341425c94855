// Decides which bodies are read now. Only a few are read at a time; the others wait in their sockets, where TCP slows the sender down.
//
// A forged signature is only detected once the body is whole. If a thousand such bodies were read at once, each turn of the event loop would take so
// long that new connections, of which each turn accepts one, would be accepted too late. So bodies are read to their end, first come, first served.
// One is interrupted only if little arrives while others wait.
//
// There is a queue for each class of announced sizes, so that 25 KB never wait for a thousand times 25 MiB, and a set of such queues for each
// standing: strangers behind the platform's own proxy are known by its address, but none of them shows the token. Proven bodies do not wait.
import { setImmediate as later } from 'node:timers'
import type { Standing } from './body-budget.ts'

/** A body that waits for its turn. These functions are called while no other code of it runs. */
export interface Reader {
  /** It may read from now on. */
  readonly begin: () => void
  /** Others wait and little has arrived: it must stop, and request another turn when there is more. */
  readonly pause: () => void
}

export interface Turn {
  /** Queues for a turn; `begin` may be called at once. */
  readonly ask: () => void
  /** Called with the number of bytes that have arrived. */
  readonly took: (bytes: number) => void
  /** Nothing more is read; may be called twice. */
  readonly end: () => void
}

/** `length`: as it was announced; undefined when it was not. */
export type ReadingTurns = (standing: Standing, length: number | undefined, reader: Reader) => Turn

/** For bodies up to `bytes`: how many are read at a time, and begun in one turn of the event loop. The smallest ones are not counted while they are read. */
const sizes = [
  { bytes: 256 * 1024, concurrency: 4 },
  { bytes: 1024 * 1024, concurrency: 2 },
  { bytes: Infinity, concurrency: 1 },
]
/** A body is interrupted if nothing arrives for this many turns of the event loop. */
const idle = 2
/** A body is interrupted if less than `bytes` arrive within so many turns and ms. */
const enough = { turns: 4, ms: 10, bytes: 16_384 }

/** `now`: milliseconds of a monotonic clock. */
export function createReadingTurns(now: () => number): ReadingTurns {
  const linesOf = (): Line[] => sizes.map(({ concurrency }) => createLine(concurrency, now))
  const lines = { stranger: linesOf(), known: linesOf(), 'with token': linesOf() }
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

function createLine(concurrency: number, now: () => number): Line {
  const reading = new Set<Place>()
  const waiting = new Set<Place>()
  /** Begun in this turn of the event loop. */
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
      if (reading.size >= concurrency) break
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
        if (reading.size < concurrency && begun < concurrency && waiting.size === 0) {
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
