// Tests work that is leased from a queue.
import {
  createLeasedWork,
  createLanePause,
  singleLane,
  type LeasedLane,
} from '../../../src/core/complete/leased-work.ts'
import { describe, expect, it } from 'vitest'
import { isWithin, territoriesOf, type Territory } from '../../../src/model/territory.ts'
import { tokenLanes, type TokenLane } from '../../../src/core/complete/leased-work.ts'
import type { Which } from '../../../src/core/store/ports/enrichment-queue.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { systemClock } from '../../../src/lib/clock.ts'

/**
 * Leases an item again while it is in progress, and leases another item after it. Returns the order of their turns. `isLeft`: the first turn leaves
 * its item in the queue.
 */
async function turnsOf(isLeft: boolean): Promise<readonly string[]> {
  const due = ['first']
  const turns: string[] = []
  const queued = new Set(['first'])
  let takenAgain = (): void => undefined
  const again = new Promise<void>(resolve => {
    takenAgain = resolve
  })
  const work = createLeasedWork<string, LeasedLane>({
    name: 'test',
    queues: [
      {
        concurrency: 2,
        take: async limit => {
          const taken = due.splice(0, limit)
          if (turns.length === 1 && taken.includes('first')) takenAgain()
          return taken
        },
      },
    ],
    nameOf: item => item,
    work: async item => {
      turns.push(item)
      if (turns.length > 1) return
      due.push(item)
      work.wake()
      await again
      if (!isLeft) queued.delete(item)
    },
    onError: (_, error) => turns.push(String(error)),
    onDone: () => {
      if (turns.length === 1) due.push('next')
    },
    extend: async (items, leaseMs) => {
      if (leaseMs === 0) due.push(...items.filter(item => queued.has(item)))
    },
    lanes: singleLane({ pause: createLanePause(systemClock) }),
    clock: systemClock,
    log: silentLog(),
  })
  work.start()
  try {
    await expect.poll(() => turns).toContain('next')
    return turns
  } finally {
    await work.stop()
  }
}

it('starts another item for each slow one, up to a limit', async () => {
  let now = 0
  const clock = { now: () => now, sleep: async (ms: number) => systemClock.sleep(ms) }
  const due = ['slow 1', 'slow 2', 'next 1', 'next 2', 'beyond']
  const begun: string[] = []
  const ends = Promise.withResolvers<undefined>()
  const work = createLeasedWork<string, LeasedLane>({
    ...{ name: 'test', nameOf: item => item, extend: async () => undefined, onError: () => undefined },
    queues: [{ concurrency: 2, slow: { afterMs: 5_000, extra: 2 }, take: async limit => due.splice(0, limit) }],
    work: async item => {
      begun.push(item)
      await ends.promise
    },
    ...{ lanes: singleLane({ pause: createLanePause(clock) }), clock, log: silentLog() },
  })
  work.start()
  try {
    await expect.poll(() => begun).toEqual(['slow 1', 'slow 2'])
    now = 5_001
    work.wake()
    await expect.poll(() => begun).toEqual(['slow 1', 'slow 2', 'next 1', 'next 2'])
    now = 20_000
    work.wake()
    ends.resolve(undefined)
    await expect.poll(() => begun).toContain('beyond')
  } finally {
    ends.resolve(undefined)
    await work.stop()
  }
})

it('restarts an item at once if it becomes due during its turn, without waiting for its lease to expire', async () => {
  expect(await turnsOf(true)).toEqual(['first', 'first', 'next'])
})

it('does not restart an item that its turn removed from the queue, even if it was leased again meanwhile', async () => {
  expect(await turnsOf(false)).toEqual(['first', 'next'])
})

describe("the tokens' work lanes", () => {
  const instance = 'https://git.example.com'
  const tokens = [[], ['team']].map((groups, index) => ({
    name: groups[0] ?? 'rest',
    territory: territoriesOf(instance, [[], ['team']])[index]!,
  }))

  it("reserves slots for the items of other tokens, and pauses each token's lane independently", async () => {
    let now = 0
    const clock = { now: () => now, sleep: async (ms: number) => systemClock.sleep(ms) }
    const lanes = tokenLanes(tokens, (path: string) => ({ instance, path }), clock)
    const isTaken = (which: Which | undefined, path: string): boolean => {
      const isIn = (all: readonly Territory[]): boolean => all.some(one => isWithin(one, instance, path))
      return which === undefined || ('only' in which ? isIn(which.only) : !isIn(which.except))
    }
    const due = ['team/1', 'team/2', 'team/3', 'team/4', 'other/1', 'other/2', 'other/3']
    const begun: string[] = []
    const ends = Promise.withResolvers<undefined>()
    const work = createLeasedWork<string, TokenLane<(typeof tokens)[number]>>({
      ...{ name: 'test', nameOf: item => item, extend: async () => undefined, onError: () => undefined },
      queues: [
        {
          concurrency: 2,
          take: async (limit, _, closed) =>
            lanes.take(closed, async which => {
              const taken = due.filter(path => isTaken(which, path)).slice(0, limit)
              for (const path of taken) due.splice(due.indexOf(path), 1)
              return taken
            }),
        },
      ],
      lanes,
      work: async item => {
        begun.push(item)
        await ends.promise
        if (item.startsWith('team')) lanes.of(item).pause.begin()
      },
      ...{ clock, log: silentLog() },
    })
    work.start()
    try {
      await expect.poll(() => begun).toEqual(['team/1', 'team/2', 'other/1', 'other/2'])
      // After a lease attempt that finds no items, the queue is read again after a second. The lane's pause begins just before this second read, and
      // ends after it.
      now = 999
      ends.resolve(undefined)
      await expect
        .poll(() => tokens.some(token => (lanes.all.find(lane => lane.token === token)?.pause.left() ?? 0) > 0))
        .toBe(true)
      now = 1_001
      work.wake()
      await expect.poll(() => begun).toContain('other/3')
      expect(due).toEqual(['team/3', 'team/4'])
    } finally {
      await work.stop()
    }
  })
})

it('pauses longer after each failure of the platform, up to a minute, and starts again with a short pause after a response', () => {
  let now = 0
  const pause = createLanePause({ now: () => now, sleep: async () => undefined })
  const pauses = Array.from({ length: 10 }, () => {
    pause.begin()
    const left = pause.left()
    now += left
    return left
  })
  expect(pause.left()).toBe(0)
  expect(pauses[0]).toBeLessThanOrEqual(1_000)
  expect(pauses[4]).toBeGreaterThanOrEqual(8_000)
  expect(pauses.slice(7).every(pause => pause >= 30_000 && pause <= 60_000)).toBe(true)
  pause.answered()
  pause.begin()
  expect(pause.left()).toBeLessThanOrEqual(1_000)
})
