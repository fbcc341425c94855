// Updates the stored figures at once instead of some seconds later, for tests of the pages that show figures over time. Without the trends feature,
// nothing is counted.
import { createSteps } from '../../src/core/store/maintenance/steps.ts'
import { features } from '../../src/features.ts'
import { silentLog } from '../../src/lib/log.ts'
import { systemClock, type Clock } from '../../src/lib/clock.ts'
import type { Chunk } from '../../src/model/chunk.ts'
import type { LineStep } from '../../src/core/store/ports/reporter.ts'
import type { Reports } from '../../src/core/store/ports/runs.ts'
import type { Run } from '../../src/model/run.ts'
import type { SharedStore } from '../../src/core/store/ports/store.ts'

const trends = features.find(({ name }) => name === 'trends')
const withFigures = features.filter(({ name }) => ['trends', 'regressions'].includes(name))

/** The trends feature's hooks, of which `onSnapshot` counts a snapshot. */
export const counting: LineStep = trends?.lineStep?.({} as never, {} as never) ?? {}

/** Returns the counts that a snapshot adds when it is exported. */
export function countedIn(run: Run, chunks: readonly Chunk[]): Reports[] {
  return chunks.flatMap(chunk => counting.onSnapshot?.(chunk, { run, isSent: true }) ?? [])
}

/** Adds the counts of all snapshots to the stored figures. */
export async function countFigures(store: Pick<SharedStore, 'on'>): Promise<void> {
  const failures: unknown[] = []
  const log = { ...silentLog(), error: (failure: unknown) => failures.push(failure) }
  for (const { create } of trends?.parts ?? []) {
    const { promise: isIdle, resolve: rests } = Promise.withResolvers<undefined>()
    const sleep: Clock['sleep'] = async (ms, signal) => {
      rests(undefined)
      return systemClock.sleep(ms, signal)
    }
    const loop = create({} as never, { store, clock: { ...systemClock, sleep }, log } as never)
    loop?.start()
    // The loop becomes idle when no counts are left, or when it has failed.
    await isIdle
    await loop?.stop()
  }
  if (failures.length > 0) throw new Error(JSON.stringify(failures))
}

/** Deletes figures older than `keep` (ms). Resolves to the number of figures that were deleted. */
export async function pruneFigures(store: Pick<SharedStore, 'on'>, keep: number, now: number): Promise<number> {
  const steps = createSteps(async () => true, { now: () => now, sleep: async () => undefined })
  const times = { keepFigures: keep, retention: keep, remember: keep }
  let pruned = 0
  for (const { schema } of withFigures)
    for (const kept of schema?.kept?.(store.on, times, steps) ?? []) pruned += await kept.sweep()(now - kept.keep)
  return pruned
}
