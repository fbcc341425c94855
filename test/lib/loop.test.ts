import { expect, it } from 'vitest'
import { createLoop } from '../../src/lib/loop.ts'
import { silentLog } from '../../src/lib/log.ts'
import { systemClock } from '../../src/lib/clock.ts'

it('finishes the current turn when a loop is stopped, and does not wait for the pause after it', async () => {
  let begin: () => void = () => undefined
  const begun = new Promise<void>(resolve => (begin = resolve))
  let end: () => void = () => undefined
  const ended = new Promise<void>(resolve => (end = resolve))
  const loop = createLoop({
    name: 'test',
    clock: systemClock,
    log: silentLog(),
    turn: async () => {
      begin()
      await ended
      return 3_600_000
    },
  })
  loop.start()
  await begun
  const stopped = loop.stop()
  end()
  await expect(stopped).resolves.toBeUndefined()
})

it('yields to the event loop between two turns of a loop', async () => {
  const order: string[] = []
  const loop = createLoop({
    name: 'test',
    clock: systemClock,
    log: silentLog(),
    turn: async () => {
      order.push('turn')
      if (order.length > 1) return 3_600_000
      // This simulates a request on an idle connection: it starts a few microtasks later, and is written in the next turn of the event loop.
      void later(20).then(() => setImmediate(() => void order.push('written')))
      return 0
    },
  })
  loop.start()
  await expect.poll(() => order).toHaveLength(3)
  await loop.stop()
  expect(order).toEqual(['turn', 'written', 'turn'])
})

async function later(steps: number): Promise<void> {
  for (let step = 0; step < steps; step += 1) await Promise.resolve()
}
