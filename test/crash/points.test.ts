// The daemon is killed with SIGKILL at named points of its flow (`points.ts`). In the long form it is killed before and after each point, on both
// stores. Everything that it acknowledged arrives, and nothing arrives twice, except requests whose outcome was unknown at a kill. A point that is
// never reached fails the test.
import { describe, expect, it } from 'vitest'
import { isFull, report } from '../e2e/load.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { newDatabase } from '../core/store/new-database.ts'
import { shiftClock } from '../core/store/postgres-server.ts'
import { dieAndLive, type Death } from './track.ts'
import { momentsOn, nameOf, type Engine, type Moment } from './points.ts'

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

/**
 * The moments at which the short form kills the daemon on each store, in the order of the flow. The other moments are tested by `counted.test.ts`,
 * `inside-jobs.test.ts` and the long form.
 */
const few: Readonly<Record<Engine, readonly string[]>> = {
  sqlite: [
    'after commit: deliveries taken in, with news in their runs',
    'before commit: a run in a snapshot and in the outbox',
    'after verdict: delivered',
    'before commit: exports put off',
    'after commit: a dead letter',
  ],
  postgres: [
    'before commit: deliveries taken in, with news in their runs',
    'before commit: exports settled as delivered',
  ],
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

describe.skipIf(isFull)('a daemon that is killed once at some of the named points', () => {
  it.each(['sqlite', 'postgres'] as const)(
    'loses nothing and repeats nothing on %s',
    { timeout: 1_800_000 },
    async engine => {
      const moments = momentsOn(engine).filter(moment => few[engine].includes(nameOf(moment)))
      expect(moments).toHaveLength(few[engine].length)
      const store = engine === 'sqlite' ? {} : await database()
      await dieAndLive({ deaths: moments.map(once), seed, timeoutMs, ...store })
    },
  )
})

describe.skipIf(!isFull)('a daemon that is killed repeatedly, at every named point and at random', () => {
  it.each(['sqlite', 'postgres'] as const)(
    'loses nothing and repeats nothing on %s',
    { timeout: 3_600_000 },
    async engine => {
      const store = engine === 'sqlite' ? {} : await database()
      const figures = await dieAndLive({ deaths: manyDeaths(engine), seed, timeoutMs, ...store })
      report({ seed, moments: momentsOn(engine).length, ...figures })
      expect(figures.kills).toBeGreaterThanOrEqual(total)
    },
  )
})
