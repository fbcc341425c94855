// Tests which items share a transaction.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createGroups } from '../../../src/core/take-in/groups.ts'

it('commits items together that arrive in successive turns of the event loop', async () => {
  // The mocked clock runs slowly, so that a busy machine does not use up the time in which a group is gathered.
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 0.001))
  onTestFinished(() => void vi.restoreAllMocks())
  const committed: (readonly number[])[] = []
  const groups = createGroups<number, string>({
    ...{ maxItems: 100, atOnce: 1, timeout: 60_000 },
    commit: async items => {
      committed.push(items)
      return items.map(item => `item ${item}`)
    },
  })
  const outcomes: Promise<string>[] = []
  for (const item of [1, 2, 3, 4]) {
    outcomes.push(groups.add(item))
    await nextTurn()
  }
  expect(await Promise.all(outcomes)).toEqual(['item 1', 'item 2', 'item 3', 'item 4'])
  expect(committed).toEqual([[1, 2, 3, 4]])
})
