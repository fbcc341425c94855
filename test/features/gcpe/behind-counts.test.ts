// Tests how commits are counted for callers that do not wait for the result.
import { expect, it } from 'vitest'
import { createBehindCounts } from '../../../src/features/gcpe/behind-counts.ts'
import { createCountBehind } from '../../../src/features/deployments/count-behind.ts'
import type { BehindOf, CountedBehind } from '../../../src/features/deployments/count-behind.ts'

function counts(answer: (of: BehindOf) => CountedBehind | Error) {
  const asked: string[] = []
  const errors: unknown[] = []
  const clock = { at: 0, now: () => clock.at }
  const count = async (one: BehindOf & { readonly instance: string }): Promise<CountedBehind> => {
    asked.push(`${one.revision}…${one.branch}`)
    const found = await Promise.resolve(answer(one))
    if (found instanceof Error) throw found
    return found
  }
  const of = createBehindCounts(count, clock, error => errors.push(error))
  const read = (from: string) => of({ instance: 'https://git.example.com', projectId: 3, from, to: 'main' })
  return { read, asked, errors, clock }
}
const refused: CountedBehind = { as: 'refused', what: 'HTTP 404', remedy: '' }

it('requests the number of commits between two revisions once, one pair at a time, and returns the numbers known so far', async () => {
  const { read, asked } = counts(({ revision }) => ({ as: 'counted', commits: revision.length, isAll: true }))
  expect([read('a'), read('a'), read('bb')]).toEqual([undefined, undefined, undefined])
  await expect.poll(() => read('bb')).toBe(2)
  expect([read('a'), asked]).toEqual([1, ['a…main', 'bb…main']])
})

it('retries a request that counts commits ten minutes after the platform refused it', async () => {
  let answer: CountedBehind = refused
  const { read, asked, clock } = counts(() => answer)
  read('a')
  await expect.poll(() => asked).toHaveLength(1)
  answer = { as: 'counted', commits: 4, isAll: true }
  await Promise.resolve()
  expect([read('a'), asked.length]).toEqual([undefined, 1])
  clock.at += 10 * 60_000
  await expect.poll(() => read('a')).toBe(4)
})

it('counts the commits of 300 environments as fast as the limit per minute allows, without delaying counts that use another token', async () => {
  let requests = 0
  const commits = async function* () {
    requests += 1
    yield await Promise.resolve({ items: [], next: undefined })
  }
  const clock = { at: 0, now: () => clock.at }
  const tokens = [1, 2].map(() => createCountBehind({ commits }, 30, clock))
  const of = createBehindCounts(
    async one => tokens[one.projectId]!(one),
    clock,
    () => undefined,
  )
  const pair = (projectId: number, at: number) =>
    of({ instance: 'https://git.example.com', projectId, from: `${at}`, to: 'main' })
  const scrape = () => ({
    one: Array.from({ length: 300 }, (_, at) => pair(0, at)).filter(one => one !== undefined).length,
    other: pair(1, 0),
  })
  for (let minutes = 1; minutes <= 10; minutes += 1) {
    await expect.poll(scrape).toEqual({ one: 30 * minutes, other: 0 })
    clock.at += 60_000
  }
  expect(requests).toBe(301)
})

it('reports an error that occurs while commits are counted, and continues to count', async () => {
  let fails = true
  const { read, errors } = counts(() => (fails ? new Error('bug') : { as: 'counted', commits: 1, isAll: true }))
  read('a')
  await expect.poll(() => errors).toHaveLength(1)
  fails = false
  await expect.poll(() => read('a')).toBe(1)
})
