// Which bodies are read at a time: lines by announced size, first come, first served, and who gives way in them.
import { setImmediate as turnOver } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createReadingTurns, type Turn } from '../../src/ingress/reading-turns.ts'
import type { Standing } from '../../src/ingress/body-budget.ts'

const [small, middling, large] = [25_000, 1_000_000, 25_000_000]

/** Readers by name, on a clock that moves by `step` ms with each look. */
function linesOf(step = 1_000): {
  join: (name: string, length?: number, standing?: Standing) => Turn
  begun: string[]
  gaveWay: string[]
} {
  let at = 0
  const turns = createReadingTurns(() => (at += step))
  const begun: string[] = []
  const gaveWay: string[] = []
  return {
    begun,
    gaveWay,
    join: (name, length, standing = 'stranger') => {
      const begin = (): void => void begun.push(name)
      const turn = turns(standing, length, {
        begin,
        pause: () => {
          gaveWay.push(name)
          turn.ask()
        },
      })
      turn.ask()
      return turn
    },
  }
}

async function pass(turns: number): Promise<void> {
  for (let at = 0; at < turns; at += 1) await turnOver()
}

test("25 KB never wait for 25 MiB, known senders never for strangers, the token's holder for neither, proven bodies for nobody", () => {
  const { join, begun } = linesOf()
  for (let at = 0; at < 100; at += 1) for (const length of [middling, large]) join('stranger', length)
  join('of unknown length')
  begun.length = 0
  join('small', small)
  join('known', large, 'known')
  for (let at = 0; at < 100; at += 1) join('behind the same proxy', large, 'known')
  join('with token', large, 'with token')
  join('another', large, 'with token')
  join('proven', large, 'proven')
  expect(begun).toEqual(['small', 'known', 'with token', 'proven'])
})

test('reads a started body to its end, and starts the next in the order of arrival when there is a place', async () => {
  const { join, begun, gaveWay } = linesOf()
  const names = ['first', 'second', 'third']
  const [first, second] = names.map(name => join(name, large))
  for (let at = 0; at < 20; at += 1) {
    first?.took(65_536)
    await pass(1)
  }
  expect([begun, gaveWay]).toEqual([['first'], []])
  first?.end()
  await pass(1)
  expect(begun).toEqual(['first', 'second'])
  second?.end()
  await pass(1)
  expect(begun).toEqual(names)
})

test('moves a slow sender behind waiting ones, but keeps its turn if nobody waits', async () => {
  const { join, begun, gaveWay } = linesOf()
  join('drips', large)
  await pass(20)
  expect(gaveWay).toEqual([])
  const other = join('pours', large)
  await pass(8)
  expect(begun.slice(0, 2)).toEqual(['drips', 'pours'])
  expect(gaveWay[0]).toBe('drips')
  other.end()
  await pass(2)
  expect(begun.at(-1)).toBe('drips')
})

test('does not wait for a sender that sends nothing', async () => {
  const { join, begun, gaveWay } = linesOf(0)
  const names = Array.from({ length: 10 }, (_, at) => `says nothing ${at}`)
  for (const name of names) join(name, large)
  join('honest', large)
  await pass(40)
  expect(gaveWay.slice(0, 10)).toEqual(names)
  expect(begun).toContain('honest')
})

test('gives no turn to a sender that disconnected while it waited', async () => {
  const { join, begun } = linesOf()
  const [first, second] = ['first', 'second', 'third'].map(name => join(name, large))
  second?.end()
  first?.end()
  await pass(2)
  expect(begun).toEqual(['first', 'third'])
})

test('starts a limited number of small bodies in each turn of the event loop', async () => {
  const { join, begun } = linesOf()
  const all = Array.from({ length: 40 }, (_, at) => `${at}`)
  for (const name of all) {
    const turn: Turn = join(name, small)
    if (begun.includes(name)) turn.end()
  }
  expect(begun).toHaveLength(4)
})
