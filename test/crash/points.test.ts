// The daemon is killed with SIGKILL at the named points in `points.ts`: at some of them in the short form, before and after each of them and on both
// stores in the long form. Everything that it acknowledged arrives, and nothing arrives twice, except requests whose outcome was unknown at a kill.
// The test fails if a point is never reached.
import { describe, expect, it } from 'vitest'
import { isFull } from '../full.ts'
import { killOnce, killRepeatedly } from './kills.ts'
import { momentsOn, nameOf, type Engine } from './points.ts'

/**
 * The moments at which the short form kills the daemon on each store, in the order of the flow. The other moments are tested by `counted.test.ts`,
 * `inside-jobs.test.ts` and the long form.
 */
const few: Readonly<Record<Engine, readonly string[]>> = {
  sqlite: [
    'after commit: take in deliveries that change runs',
    'before commit: store a snapshot and its outbox entries',
    'after verdict: delivered',
    'before commit: defer exports',
    'after commit: store a dead letter',
  ],
  postgres: ['before commit: take in deliveries that change runs', 'before commit: settle exports as delivered'],
}

describe.skipIf(isFull)('a daemon that is killed once at some of the named points', () => {
  it.each(['sqlite', 'postgres'] as const)(
    'loses and repeats nothing on %s if the daemon is killed at a named point',
    { timeout: 1_800_000 },
    async engine => {
      const moments = momentsOn(engine).filter(moment => few[engine].includes(nameOf(moment)))
      expect(moments).toHaveLength(few[engine].length)
      await killOnce(engine, moments)
    },
  )
})

it.skipIf(!isFull)(
  'loses and repeats nothing on SQLite, even if the daemon is killed at every named point and at random times',
  { timeout: 5_400_000 },
  async () => killRepeatedly('sqlite'),
)
