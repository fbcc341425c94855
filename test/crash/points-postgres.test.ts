// Runs the long form of `points.test.ts` on PostgreSQL, at the same time as the one on SQLite.
import { it } from 'vitest'
import { isFull } from '../full.ts'
import { killRepeatedly } from './deaths.ts'

it.skipIf(!isFull)(
  'loses and repeats nothing on PostgreSQL if the daemon is killed at every named point and at random',
  { timeout: 5_400_000 },
  async () => killRepeatedly('postgres'),
)
