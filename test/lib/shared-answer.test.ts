// Tests cached results that concurrent and later callers share.
import { expect, it } from 'vitest'
import { sharedAnswers } from '../../src/lib/shared-answer.ts'

it('reads a result once per key within the cache lifetime', async () => {
  let reads = 0
  const read = async () => Promise.resolve((reads += 1))
  const of = sharedAnswers<number>(50, 2)
  expect(await Promise.all([of('a', read), of('a', read), of('b', read)])).toEqual([1, 1, 2])
  // The cache is full with two results, so a third one is read for each caller.
  expect(await Promise.all([of('c', read), of('c', read), of('a', read)])).toEqual([3, 4, 1])
  await expect.poll(async () => of('a', read)).toBe(5)
})

it('does not cache a failed read', async () => {
  const of = sharedAnswers<number>(60_000, 2)
  await expect(of('a', async () => Promise.reject(new Error('once')))).rejects.toThrow('once')
  expect(await of('a', async () => Promise.resolve(1))).toBe(1)
})
