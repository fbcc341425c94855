// Tests under which path a scope finds the data of a project that was renamed or moved.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { event, minute, rules, t0 } from '../../flow/world.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { openSqlite } from '../../support/stores.ts'
import type { Observation } from '../../../src/model/observation.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

/** Returns the observation of a pipeline that was created in this minute. The project has this path, or its path is unknown. */
function observed(pipelineId: number, created: number, path?: string): Observation {
  const one = event('running', { createdAt: t0 + created * minute }, [], {}, pipelineId)
  return { ...one, project: path === undefined ? { id: 3 } : { id: 3, path } }
}

describe('a scope', () => {
  let store: Store
  beforeEach(() => {
    store = closeAfterTest(openSqlite(':memory:', { now: () => t0, maxSize: 2 ** 30 }))
  })

  /** Takes in the observations in one transaction. */
  async function take(...observations: Observation[]): Promise<void> {
    await store.runs.transact(mergeObservations(observations, 'webhook', rules))
  }

  /** Returns the pipelines that a reader of this group sees. */
  async function seenIn(group: string): Promise<number[]> {
    const { views } = store.reads({ bounds: 'own', sees: ({ path }) => path.startsWith(`${group}/`) })
    return (await views.search({ limit: 10 })).runs.map(({ run }) => run.key.pipelineId).sort((a, b) => a - b)
  }

  it('applies to the latest path of a project, and also to data that was stored under an earlier path', async () => {
    await take(observed(1, 1, 'old/shop'))
    await take(observed(2, 2, 'new/shop'))
    expect([await seenIn('old'), await seenIn('new')]).toEqual([[], [1, 2]])
  })

  it('keeps the latest path of a project if an older pipeline, or a pipeline without a path, is reported later', async () => {
    await take(observed(2, 2, 'new/shop'))
    await take(observed(1, 1, 'old/shop'))
    await take(observed(3, 3))
    expect([await seenIn('old'), await seenIn('new')]).toEqual([[], [1, 2, 3]])
  })

  it('applies to the latest known path if several pipelines are reported together, in any order', async () => {
    const together = [observed(1, 1, 'old/shop'), observed(2, 2, 'new/shop'), observed(3, 3)]
    await take(...together.toReversed())
    expect([await seenIn('old'), await seenIn('new')]).toEqual([[], [1, 2, 3]])
  })
})
