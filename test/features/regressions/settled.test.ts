// Tests that regressions end although their jobs no longer run, on both databases.
import { expect, it } from 'vitest'
import { bothDatabases } from '../../core/store/benches.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { day } from '../../../src/features/regressions/series.ts'
import { foundRegressions, regressionsOf, type Regression } from '../../../src/features/regressions/documents.ts'
import { instance } from '../../flow/world.ts'
import { judgeOf } from './judge.ts'

it.each(bothDatabases())(
  'resolves a regression after five weeks even if its job was removed or renamed, on %s',
  async (_name, bench) => {
    const here = closeAfterTest(await bench())
    const store = await here.open()
    const stored = store.repositories.of(foundRegressions)
    const now = await stored.now()
    const begun = (days: number): Regression => {
      const first = { id: days, pipelineId: days, at: now - days * day, attempt: 1 }
      return {
        ...{ instance, projectId: 301, id: `r${days}`, project: 'acme/shop', kind: 'slower', branch: 'default' },
        ...{ job: `job ${days}`, before: 1, after: 2, limit: 1, runsBefore: 9, runsAfter: 9, first, flagged: first },
        ...{ flaggedAt: first.at, cause: 'Nothing else changed.', also: [] },
        announced: { detected: true, resolved: false },
      }
    }
    for (const days of [34, 36]) await stored.put(begun(days))
    const announced: string[] = []
    const judge = judgeOf(
      store,
      [],
      async all => void announced.push(...all.map(({ which, regression: { job } }) => `${job} ${which}`)),
    )
    await judge.judgeAll()
    await judge.judgeAll()
    expect(announced).toEqual(['job 36 resolved'])
    expect((await regressionsOf(store, {})).map(({ job, resolved }) => [job, resolved?.how, resolved?.at])).toEqual([
      ['job 34', undefined, undefined],
      ['job 36', 'settled', now - 8 * day],
    ])
  },
)
