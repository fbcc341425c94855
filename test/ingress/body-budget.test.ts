// Who gives way when bodies in flight need more than there is.
import { expect, test } from 'vitest'
import {
  bodyBytesWithin,
  createBodyBudget,
  type BodyBudget,
  type BodyClaim,
  type Standing,
} from '../../src/ingress/body-budget.ts'

interface Sender {
  readonly claim: BodyClaim
  taken: boolean
}

/** 100 bytes, 60 of them for who is not proven, on a clock that the test moves. */
function budgetOf(): { budget: BodyBudget; sender: (standing: Standing) => Sender; pass: (ms: number) => void } {
  let now = 0
  const budget = createBodyBudget({ total: 100, unproven: 60, now: () => now })
  return {
    budget,
    pass: ms => void (now += ms),
    sender: standing => {
      const found: Sender = { claim: budget.claim(standing, () => (found.taken = true)), taken: false }
      return found
    },
  }
}

test('unproven senders have a share, and the rest is reserved for proven ones', () => {
  const { budget, sender } = budgetOf()
  const stranger = sender('stranger')
  expect(stranger.claim.grow(60, 60)).toBe(true)
  expect(stranger.claim.grow(61, 61)).toBe(false)
  expect(budget.inFlight()).toBe(60)
  expect(sender('proven').claim.grow(40, 40)).toBe(true)
  expect(stranger.taken).toBe(false)
})

test('evicts the slower of two bodies, so that the slowest sender does not block others', () => {
  const { budget, sender, pass } = budgetOf()
  const [first, second] = [sender('stranger'), sender('stranger')]
  expect([first.claim.grow(30, 30), second.claim.grow(30, 20)]).toEqual([true, true])
  pass(1_000)
  const quick = sender('stranger')
  pass(10)
  expect(quick.claim.grow(20, 20)).toBe(true)
  expect([first.taken, second.taken, budget.inFlight()]).toEqual([false, true, 50])
  const slow = sender('stranger')
  expect(slow.claim.grow(1, 1)).toBe(true)
  pass(60_000)
  expect(slow.claim.grow(60, 2)).toBe(false)
  expect(quick.taken).toBe(false)
})

test('prefers a sender with an earlier valid delivery to any stranger, and a proven body to both', () => {
  const { sender, pass } = budgetOf()
  const known = sender('known')
  pass(1_000)
  expect(known.claim.grow(40, 40)).toBe(true)
  const stranger = sender('stranger')
  expect(stranger.claim.grow(21, 21)).toBe(false)
  expect(stranger.claim.grow(20, 20)).toBe(true)
  expect(known.claim.grow(60, 60)).toBe(true)
  expect([known.taken, stranger.taken]).toEqual([false, true])
  expect(sender('proven').claim.grow(90, 90)).toBe(true)
  expect(known.taken).toBe(true)
})

test('prefers a sender with the token to one with an earlier valid delivery, and a proven body to both', () => {
  const { sender, pass } = budgetOf()
  const withToken = sender('with token')
  pass(1_000)
  expect(withToken.claim.grow(40, 1)).toBe(true)
  const known = sender('known')
  expect(known.claim.grow(21, 21)).toBe(false)
  expect(known.claim.grow(20, 20)).toBe(true)
  expect(withToken.claim.grow(60, 2)).toBe(true)
  expect([withToken.taken, known.taken]).toEqual([false, true])
  // It is not verified: its share is that of the others.
  expect(withToken.claim.grow(61, 3)).toBe(false)
  expect(sender('proven').claim.grow(90, 90)).toBe(true)
  expect(withToken.taken).toBe(true)
})

test('evicts no body if that would not make enough room', () => {
  const { sender, pass } = budgetOf()
  expect(sender('proven').claim.grow(80, 80)).toBe(true)
  const stranger = sender('stranger')
  expect(stranger.claim.grow(10, 10)).toBe(true)
  pass(1_000)
  expect(sender('known').claim.grow(40, 40)).toBe(false)
  expect(stranger.taken).toBe(false)
})

test('never evicts a proven body, and releases it once', () => {
  const { budget, sender, pass } = budgetOf()
  const signed = sender('stranger')
  expect(signed.claim.grow(32, 25)).toBe(true)
  expect(signed.claim.prove(25)).toBe(true)
  pass(60_000)
  expect(sender('stranger').claim.grow(60, 60)).toBe(true)
  expect(sender('proven').claim.prove(75)).toBe(true)
  expect(sender('proven').claim.prove(1)).toBe(false)
  expect([signed.taken, budget.inFlight()]).toEqual([false, 100])
  signed.claim.release()
  signed.claim.release()
  expect(budget.inFlight()).toBe(75)
})

test('has a smaller budget in a small container', () => {
  const MiB = 1024 * 1024
  expect([undefined, 4_096 * MiB, 512 * MiB, 256 * MiB].map(memory => bodyBytesWithin(memory) / MiB)).toEqual([
    64, 64, 64, 32,
  ])
})
