// Tests that page queries use an index.
import { deadLetters, selectQueues } from '../../../src/core/store/sql/outbox.ts'
import { everything } from '../../../src/core/store/ports/scope.ts'
import { queriesUseIndexes } from './query-plans.ts'
import { t0 } from '../../flow/world.ts'
import { unbounded } from '../../../src/core/store/sql/reading.ts'
import { viewsWithin } from '../../../src/core/store/read-models/reads.ts'
import type { RunQuery } from '../../../src/core/store/ports/views.ts'
import type { Statements } from '../../../src/core/store/sql/statements.ts'

const day = 86_400_000
const key = { instance: 'https://git.example.com', pipelineId: 1_003 }
const equals: Partial<RunQuery>[] = [
  {},
  { text: 'prices' },
  { project: 'acme/shop/api' },
  { ref: 'main' },
  { status: 'failed' },
  { source: 'push' },
  { job: 'unit' },
  { job: 'unit', project: 'acme/shop/api' },
  { project: 'acme/shop/api', ref: 'main', status: 'failed', source: 'push', text: 'amina' },
]

async function askAll(statements: Statements): Promise<void> {
  const views = viewsWithin(unbounded(statements), [])
  await views.inStatus(['running', 'failed'], 20)
  await views.countInStatus(['running', 'failed'])
  await views.lastFinished(20)
  await views.silentInStatus(['running', 'failed'], t0, 20)
  await views.countFinished(t0)
  await views.projects(100)
  await views.find(100, key.pipelineId)
  await views.children(key)
  await views.listedKeys(20)
  await views.chunks(key)
  await views.chunksOf([{ id: 1 }, { id: 2 }])
  await views.sections(key, 100)
  await views.sections(key, 20, 1)
  await views.outboxOf(key)
  for (const query of equals) {
    const { next } = await views.search({ ...query, limit: 20 })
    const { text: _, job: __, ...counted } = query
    await views.countRuns(counted)
    await views.countRuns({ ...counted, since: t0 - day, until: t0 })
    await views.search({
      ...query,
      since: t0 - day,
      until: t0,
      limit: 20,
      after: next ?? { createdAt: t0, pipelineId: 1 },
    })
  }
  await views.audit(50)
  await views.audit(50, { at: t0, id: 7 })
  for (const project of [undefined, 'acme/shop'])
    await views.shownEvents({ as: 'merge', project, since: t0 - 30 * day, until: t0, limit: 50 })
  await deadLetters(statements).within(everything).deadLetters(100)
}

queriesUseIndexes({
  askAll: async (statements, ask) => {
    await askAll(statements)
    await ask(selectQueues, [])
  },
})
