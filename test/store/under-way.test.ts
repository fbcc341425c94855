// What is settled or encoded is noted before it is begun: the next process knows what one died of, and how often in a row. A process
// that lives clears it of suspicion. On both stores.
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../support/after-test.ts'
import { openOwnStore } from '../../src/store/open-store.ts'
import { deliveryPositions } from '../../src/store/sqlite/deliveries/positions.ts'
import { mergeObservations } from '../../src/processing/merge-observations.ts'
import { runName, runOfName, type UnderWayNote } from '../../src/store/ports/under-way.ts'
import { Secret } from '../../src/lib/secret.ts'
import { newDatabase } from './new-database.ts'
import { event, instance, rules } from '../flow/world.ts'
import type { Store } from '../../src/store/ports/store.ts'
import type { StoreLocation } from '../../src/store/store-location.ts'

async function place(engine: string): Promise<StoreLocation> {
  if (engine === 'postgres') return { engine, url: new Secret(await newDatabase()) }
  return { engine: 'sqlite', path: path.join(temporaryFolder(), 'pipespan.db') }
}

const name = (pipelineId: number): string => runName({ instance, pipelineId })
const [a, b, c] = [name(1), name(2), name(3)]

/** What one process after the other has under way on one store, which has three runs that are due. */
async function lives(engine: string): Promise<() => Promise<UnderWayNote>> {
  const location = await place(engine)
  let store: Store | undefined
  const next = async (): Promise<Store> => {
    await store?.close()
    store = await openOwnStore(location, { maxSize: 2 ** 40, positions: deliveryPositions() })
    return store
  }
  onTestFinished(async () => store?.close())
  const { runs } = await next()
  await runs.transact(
    mergeObservations(
      [1, 2, 3].map(id => event('success', {}, [], {}, id)),
      'webhook',
      rules,
    ),
  )
  return async () => (await next()).underWay.settling
}

describe.each(['sqlite', 'postgres'])('work that was in progress when a process crashed, on %s', engine => {
  it('is done item by item by the next process; the rest is done together', async () => {
    const next = await lives(engine)
    expect(await (await next()).begin([a, b])).toEqual([])
    const note = await next()
    expect(await note.begin([a, b, c])).toEqual([a, b])
    await note.end()
    for (const one of [a, b]) {
      expect(await note.beginAlone(one)).toBe(0)
      await note.end()
    }
    expect(await note.begin([a, b, c])).toEqual([])
  })

  it('is counted with its consecutive crashes, and not tried again after the third', async () => {
    const next = await lives(engine)
    await (await next()).begin([a, b])
    for (const deaths of [0, 1, 2, 3, 3]) {
      const note = await next()
      expect(await note.begin([a, c])).toEqual([a])
      await note.end()
      expect(await note.beginAlone(a)).toBe(deaths)
    }
    const note = await next()
    expect(await note.begin([a])).toEqual([a])
    await note.forget(a)
    expect(await note.begin([a])).toEqual([])
  })

  it('is not suspected once a process has survived it, nor is work that was not begun', async () => {
    const next = await lives(engine)
    await (await next()).begin([a])
    const tired = await next()
    await tired.begin([a])
    expect(await tired.beginAlone(a)).toBe(1)
    await tired.end()
    expect(await (await next()).begin([a, b, c])).toEqual([])
  })
})

it('the name of a run identifies it', () => {
  expect(runOfName(a)).toEqual({ instance, pipelineId: 1 })
})
