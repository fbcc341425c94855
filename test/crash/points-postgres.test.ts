// The long form of `points.test.ts` on PostgreSQL. It is a separate file, so that it runs at the same time as the long form on SQLite.
import { it } from 'vitest'
import { isFull } from '../full.ts'
import { killRepeatedly } from './kills.ts'

it.skipIf(!isFull)(
  'loses and repeats nothing on PostgreSQL, even if the daemon is killed at every named point and at random times',
  { timeout: 5_400_000 },
  async () => killRepeatedly('postgres'),
)
