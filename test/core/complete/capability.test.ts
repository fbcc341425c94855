// Tests how the store records that the platform refuses an endpoint for one project after another, on both databases.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { createCapabilities, type Asked } from '../../../src/core/complete/capability.ts'
import { day, hour, instance } from '../../flow/world.ts'
import { PlatformError } from '../../../src/platform/port.ts'
import { bothDatabases, type Bench } from '../store/benches.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const notFound = new PlatformError({
  ...{ kind: 'not-found', status: 404, detail: '404 Project Not Found' },
  ...{ what: 'The project is not there.', remedy: 'Make the token a member of it.' },
})

describe.each(bothDatabases())('an endpoint that the platform refuses, on %s', (_, bench) => {
  let here: Bench
  let store: Store
  beforeEach(async () => {
    here = closeAfterTest(await bench())
    store = await here.open()
  })

  it('still requests a refused endpoint for other projects after four refusals, and for no project for a day after the fifth', async () => {
    const capabilities = createCapabilities(store.repositories.refusedEndpoints, instance)
    const of = (project: number): Asked => ({ what: 'log', project, path: `acme/p${project}` })
    /** The projects for which the endpoint is still requested. */
    const open = async (): Promise<number[]> => {
      const asked = [1, 2, 3, 4, 5, 6].map(async project => ((await capabilities.mayAsk(of(project))) ? [project] : []))
      return (await Promise.all(asked)).flat()
    }
    for (const project of [1, 2, 3, 4]) await capabilities.refused(of(project), notFound)
    expect(await open()).toEqual([5, 6])
    await capabilities.refused(of(5), notFound)
    expect(await open()).toEqual([])
    expect(await capabilities.mayAsk({ ...of(6), what: 'tests' })).toBe(true)
    here.move(day - hour)
    expect(await open()).toEqual([])
    here.move(hour)
    expect(await open()).toEqual([1, 2, 3, 4, 5, 6])
  })

  it("still requests a project's jobs after two refusals in a row, and not after the third", async () => {
    const capabilities = createCapabilities(store.repositories.refusedEndpoints, instance)
    const jobs: Asked = { what: 'jobs', project: 1, path: 'acme/p1' }
    const after: boolean[] = []
    for (const outcome of ['refused', 'refused', 'answered', 'refused', 'refused', 'refused'] as const) {
      await (outcome === 'refused' ? capabilities.refused(jobs, notFound) : capabilities.answered(jobs))
      after.push(await capabilities.mayAsk(jobs))
    }
    expect(after).toEqual([true, true, true, true, true, false])
    expect(await capabilities.mayAsk({ ...jobs, project: 2 })).toBe(true)
  })
})
