// The daemon is killed with SIGKILL at named points of its flow (`points.ts`). In the long form it is killed before and after each point, on both
// stores. Everything that it acknowledged arrives, and nothing arrives twice, except requests whose outcome was unknown at a kill. A point that is
// never reached fails the test.
import { describe, expect, it } from 'vitest'
import { isFull } from '../full.ts'
import { killOnce, killRepeatedly } from './deaths.ts'
import { momentsOn, nameOf, type Engine } from './points.ts'

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

describe.skipIf(isFull)('a daemon that is killed once at some of the named points', () => {
  it.each(['sqlite', 'postgres'] as const)(
    'loses and repeats nothing on %s if the daemon is killed',
    { timeout: 1_800_000 },
    async engine => {
      const moments = momentsOn(engine).filter(moment => few[engine].includes(nameOf(moment)))
      expect(moments).toHaveLength(few[engine].length)
      await killOnce(engine, moments)
    },
  )
})

it.skipIf(!isFull)(
  'loses and repeats nothing on SQLite if the daemon is killed at every named point and at random',
  { timeout: 5_400_000 },
  async () => killRepeatedly('sqlite'),
)
