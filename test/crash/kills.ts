// Kills the daemon repeatedly, at named moments and at random times. On each store, it is killed at every named moment in turn, then in random order
// at later occurrences of these moments and at random times. Each store has its own test file, so that both run at the same time.
import { expect } from 'vitest'
import { isFull, report } from '../e2e/load.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { newDatabase } from '../core/store/new-database.ts'
import { shiftClock } from '../core/store/postgres-server.ts'
import { runWithKills, type Kill } from './killed-daemon.ts'
import { momentsOn, type Engine, type Moment } from './points.ts'

const seed = isFull ? Date.now() % 1_000_000 : 4
const timeoutMs = { moment: 300_000, rest: 600_000 }
/** Number of kills per store in the long form. It includes each moment at least once, later occurrences of the moments, and random times. */
const total = Number(process.env.PIPESPAN_TEST_KILLS ?? 220)
const killCounts = { named: Math.ceil(total * 0.55), random: Math.floor(total * 0.45) }

/**
 * Creates a database whose clock can be set forward, so that the leases of a killed daemon expire at once. With this test's long timeout, they would
 * take 21 minutes.
 */
async function database(): Promise<{ storeUrl: string; beforeLastStart: () => Promise<void> }> {
  const storeUrl = await newDatabase()
  return { storeUrl, beforeLastStart: async () => shiftClock(storeUrl, 1_800_000) }
}

const once = (moment: Moment): Kill => ({ moment, nth: 1 })

/** Returns every moment in turn, followed by later occurrences of the moments and random times, in random order. */
function manyKills(engine: Engine): Kill[] {
  const random = new Random(seed)
  const first = momentsOn(engine).sort((a, b) => rank(a) - rank(b))
  const later = first.filter(moment => moment.point.first === undefined && !isPruning(moment))
  const kills: Kill[] = []
  for (let count = 0; count < killCounts.random; count += 1) {
    kills.push({
      after: random.between(0, random.chance(0.3) ? 900 : 1_500),
      since: random.chance(0.3) ? 'start' : 'ready',
    })
  }
  for (let count = first.length; count < killCounts.named; count += 1) {
    const moment = later[count % later.length]
    if (moment !== undefined) kills.push({ moment, nth: isOncePerProcess(moment) ? 1 : random.whole(1, 6) })
  }
  return [...first.map(once), ...random.shuffle(kills)]
}

function isPruning({ point }: Moment): boolean {
  return point.needs === 'a short retention'
}

/**
 * Returns the sort key of a moment. Moments that need an empty store come first. Moments at which data is pruned come next: they require that the
 * previous process ended normally, because nothing is pruned for half a minute after a kill.
 */
function rank(moment: Moment): number {
  return moment.point.first ? 0 : isPruning(moment) ? 1 : 2
}

/** True if the moment occurs at most once in the life of a process. */
function isOncePerProcess({ point }: Moment): boolean {
  return point.needs !== undefined || point.name.includes('dead process')
}

/** Kills the daemon once at each of these moments, and compares the telemetry that arrived with what happened on the platform. */
export async function killOnce(engine: Engine, moments: readonly Moment[]): Promise<void> {
  const store = engine === 'sqlite' ? {} : await database()
  await runWithKills({ kills: moments.map(once), seed, timeoutMs, ...store })
}

/** Kills the daemon at all moments and at random times, and prints the figures. */
export async function killRepeatedly(engine: Engine): Promise<void> {
  const store = engine === 'sqlite' ? {} : await database()
  const figures = await runWithKills({ kills: manyKills(engine), seed, timeoutMs, ...store })
  report({ engine, seed, moments: momentsOn(engine).length, ...figures })
  expect(figures.kills).toBeGreaterThanOrEqual(total)
}
