// Tests the limit on concurrent slow requests.
import { expect, it } from 'vitest'
import { createBusyLimit, ownTurn } from '../../src/lib/busy-limit.ts'

it('rejects concurrent requests above the limit, and accepts new ones after a request has ended or failed', async () => {
  const limit = createBusyLimit(1)
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const first = limit.run(async () => {
    await promise
    throw new Error('no')
  })
  expect(await limit.run(async () => Promise.resolve('done'))).toBe('refused')
  resolve(undefined)
  await expect(first).rejects.toThrow('no')
  expect(await limit.run(async () => Promise.resolve('done'))).toBe('done')
})

it('starts one request at a time, and yields to other work in between', async () => {
  const order: string[] = []
  const taking = ['a', 'b', 'c'].map(async name => {
    await ownTurn()
    order.push(name)
    setImmediate(() => order.push(`after ${name}`))
  })
  await Promise.all(taking)
  expect(order).toEqual(['a', 'after a', 'b', 'after b', 'c'])
})
