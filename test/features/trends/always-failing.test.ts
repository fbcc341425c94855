// Tests that the list of what to fix first has jobs that always fail although many others fail more often, on both databases.
import { expect, it } from 'vitest'
import { bothDatabases } from '../../core/store/benches.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { countFigures } from '../../support/counted-figures.ts'
import { day } from '../../../src/features/trends/counting/figures.ts'
import { everything } from '../../../src/core/store/ports/scope.ts'
import { instance } from '../../flow/world.ts'
import { ownSources } from '../../../src/features/trends/fix-first/view.ts'
import type { PagesParts } from '../../../src/console/ports.ts'

it.each(bothDatabases())(
  'lists a job that always fails although 50 jobs with many runs have more failures, on %s',
  async (_name, bench) => {
    const here = closeAfterTest(await bench())
    const store = await here.open()
    const now = await store.now()
    const job = (name: string, failed: boolean) => ({ name, endedAt: now, ran: { failed, tookMs: 60_000 } })
    const jobs = [
      ...Array.from({ length: 50 }, (_, n) => `often ${n}`).flatMap(name =>
        Array.from({ length: 20 }, (_, run) => job(name, run < 10)),
      ),
      ...Array.from({ length: 6 }, () => job('nightly', true)),
    ]
    const chunk = { instance, projectId: 3, project: 'acme/shop', branch: 'default', source: 'push', pipelineName: '' }
    const insert = 'INSERT INTO figures_added (project_id, content) VALUES (3, ?1)'
    await store.on(async sql => sql.change(insert, [JSON.stringify([{ ...chunk, jobs }])]))
    await countFigures(store)
    const parts = store.reads(everything) as unknown as PagesParts
    const failing = ownSources.find(({ kind }) => kind === 'failing')
    const found = await failing?.read(parts, now - 7 * day, now + day)
    expect(found?.map(({ subject, why }) => [subject, why])).toEqual([['nightly', 'Failed in all 6 runs.']])
  },
)
