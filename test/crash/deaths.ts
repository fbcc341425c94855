// Kills the daemon repeatedly, for the tests of its named points. On one store, it is killed at every named moment in turn, then at a later
// occurrence of each moment, in random order and mixed with random times. Each store has its own test file, so that both run at the same time.
import { expect } from 'vitest'
import { isFull, report } from '../e2e/load.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { newDatabase } from '../core/store/new-database.ts'
import { shiftClock } from '../core/store/postgres-server.ts'
import { dieAndLive, type Death } from './track.ts'
import { momentsOn, type Engine, type Moment } from './points.ts'

const seed = isFull ? Date.now() % 1_000_000 : 4
const timeoutMs = { moment: 300_000, rest: 600_000 }
/** Number of kills per store in the long form: at all moments in turn, at several occurrences of each moment, and at random times. */
const total = Number(process.env.PIPESPAN_TEST_KILLS ?? 220)
const kills = { named: Math.ceil(total * 0.55), random: Math.floor(total * 0.45) }

/**
 * Creates a database whose clock can be set forward, so that the leases of a killed daemon expire. Otherwise that would take 21 minutes, with the
 * long timeout in this test.
 */
async function database(): Promise<{ storeUrl: string; beforeLast: () => Promise<void> }> {
  const storeUrl = await newDatabase()
  return { storeUrl, beforeLast: async () => shiftClock(storeUrl, 1_800_000) }
}

const once = (moment: Moment): Death => ({ moment, nth: 1 })

/** Returns every moment in turn, then each one again at a later occurrence, in random order and mixed with random times. */
function manyDeaths(engine: Engine): Death[] {
  const random = new Random(seed)
  const first = momentsOn(engine).sort((a, b) => rank(a) - rank(b))
  const later = first.filter(moment => moment.point.first === undefined && !isPruning(moment))
  const deaths: Death[] = []
  for (let count = 0; count < kills.random; count += 1) {
    deaths.push({
      after: random.between(0, random.chance(0.3) ? 900 : 1_500),
      since: random.chance(0.3) ? 'start' : 'ready',
    })
  }
  for (let count = first.length; count < kills.named; count += 1) {
    const moment = later[count % later.length]
    if (moment !== undefined) deaths.push({ moment, nth: isOfALife(moment) ? 1 : random.whole(1, 6) })
  }
  return [...first.map(once), ...random.shuffle(deaths)]
}

function isPruning({ point }: Moment): boolean {
  return point.needs === 'a short retention'
}

/**
 * Returns the sort key of a moment. Moments that need an empty store come first. Next are those that require the previous life to have ended
 * normally, because nothing is pruned for half a minute after a kill.
 */
function rank(moment: Moment): number {
  return moment.point.first ? 0 : isPruning(moment) ? 1 : 2
}

/** True if the moment occurs at most once in a life. */
function isOfALife({ point }: Moment): boolean {
  return point.needs !== undefined || point.name.includes('dead process')
}

/** Kills the daemon once at each of these moments, and compares what arrived with what happened. */
export async function killOnce(engine: Engine, moments: readonly Moment[]): Promise<void> {
  const store = engine === 'sqlite' ? {} : await database()
  await dieAndLive({ deaths: moments.map(once), seed, timeoutMs, ...store })
}

/** Kills the daemon at all moments and at random times, and reports the figures. */
export async function killRepeatedly(engine: Engine): Promise<void> {
  const store = engine === 'sqlite' ? {} : await database()
  const figures = await dieAndLive({ deaths: manyDeaths(engine), seed, timeoutMs, ...store })
  report({ engine, seed, moments: momentsOn(engine).length, ...figures })
  expect(figures.kills).toBeGreaterThanOrEqual(total)
}
