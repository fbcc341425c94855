import { expect, it } from 'vitest'
import { createAttempts, limits } from '../../../src/console/access/attempts.ts'

function world() {
  let now = Date.UTC(2026, 5, 1)
  const attempts = createAttempts(() => now)
  const guess = (address: string, given: string): number => {
    const pause = attempts.pause(address)
    attempts.failed(address, given)
    return pause
  }
  return { attempts, guess, move: (ms: number) => (now += ms) }
}

it('delays requests from an address after five different wrong tokens', () => {
  const { attempts, guess } = world()
  for (let count = 0; count < 5; count += 1) expect(guess('192.0.2.1', `wrong ${count}`)).toBe(0)
  expect(guess('192.0.2.1', 'wrong 5')).toBe(limits.minDelay)
  expect(attempts.pause('192.0.2.2')).toBe(0)
})

it('never delays longer than the maximum, however many clients are guessing at once', () => {
  const { attempts, guess } = world()
  for (let count = 0; count < 5_000; count += 1) guess('192.0.2.1', `wrong ${count}`)
  expect(attempts.pause('192.0.2.1')).toBe(limits.maxDelay)
})

it('delays every further guess, and forgets guesses after a quarter of an hour', () => {
  const { attempts, guess, move } = world()
  for (let count = 0; count < 20; count += 1) move(guess('192.0.2.1', `wrong ${count}`))
  expect(attempts.pause('192.0.2.1')).toBe(limits.minDelay)
  move(limits.period)
  expect(attempts.pause('192.0.2.1')).toBe(0)
})

it('delays requests from all addresses if many of them are guessing, and counts an IPv6 network as one address', () => {
  const { attempts, guess, move } = world()
  for (let count = 0; count < 6; count += 1) guess(`2001:db8::${count}`, `wrong ${count}`)
  expect(attempts.pause('2001:db8:0:0:ffff::1')).toBeGreaterThan(0)
  expect(attempts.pause('2001:db8:0:1::1')).toBe(0)
  for (let count = 0; count < limits.everybody; count += 1) guess(`192.0.2.${count}`, 'wrong')
  expect(attempts.pause('203.0.113.1')).toBeGreaterThan(0)
  move(limits.period)
  expect(attempts.pause('203.0.113.1')).toBe(0)
})

it('delays no requests because of guesses that were recorded while the clock was ahead', () => {
  const { attempts, guess, move } = world()
  for (let count = 0; count < 50; count += 1) guess('192.0.2.1', `wrong ${count}`)
  move(-365 * 24 * 3_600_000)
  expect(attempts.pause('192.0.2.1')).toBe(0)
})
