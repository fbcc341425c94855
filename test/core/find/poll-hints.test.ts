// Tests how webhooks and other pipelines tell the poller which projects to read.
import { expect, it } from 'vitest'
import { createPollHints } from '../../../src/core/find/poll-due.ts'

it('returns each hinted project once, at most twenty per round', () => {
  const hints = createPollHints()
  for (let id = 1; id <= 25; id += 1) hints.add(id)
  hints.add(3)
  expect(hints.take()).toEqual(Array.from({ length: 20 }, (_, at) => at + 1))
  expect(hints.take()).toEqual([21, 22, 23, 24, 25])
  expect(hints.take()).toEqual([])
})

it('keeps at most a thousand hints, so that a flood of webhooks does not fill the memory', () => {
  const hints = createPollHints()
  for (let id = 1; id <= 1_500; id += 1) hints.add(id)
  const taken: number[] = []
  for (let some = hints.take(); some.length > 0; some = hints.take()) taken.push(...some)
  expect(taken).toHaveLength(1_000)
})

it('adds a hint for a project only the first time that a webhook names it', () => {
  const hints = createPollHints()
  hints.remember(7)
  expect(hints.take()).toEqual([7])
  hints.remember(7)
  expect(hints.take()).toEqual([])
})
