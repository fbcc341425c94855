// Tests the offset of the platform's clock, which is computed from the `Date` headers of its responses.
import { expect, it } from 'vitest'
import { answer, clientOf, json, poll, startPlatform } from './platform-server.ts'
import { createClockOffset } from '../../../src/platform/rest/answer.ts'

const dateOf = (at: number): { date: string } => ({ date: new Date(at).toUTCString() })

it.each([-48 * 60_000, 3 * 3_600_000])(
  'computes a clock offset of %i ms from one response, with an accuracy of one second',
  async off => {
    const clockOffset = createClockOffset()
    await using platform = await startPlatform(answer(500, '', dateOf(0)))
    await using used = clientOf(platform.url, { clockOffset, retry: { tries: 1, refusals: 1, first: 1, max: 1 } })
    const { client, clock } = used
    await client.project(1, poll).catch(() => undefined)
    // The date of an error response is ignored, because a proxy may have written it.
    expect(clockOffset.current()).toBeUndefined()
    platform.reply = (...sent) => json({ id: 1, path_with_namespace: 'acme/shop' }, dateOf(clock.now() + off))(...sent)
    await client.project(1, poll)
    expect(Math.abs((clockOffset.current() ?? NaN) - off)).toBeLessThan(1_000)
  },
)

it('computes an offset of 0 if both clocks agree, however late and at whatever fraction of a second the platform responds', () => {
  const { observe, current } = createClockOffset()
  for (let sentAt = 100_000; sentAt < 120_000; sentAt += 137) {
    const servedAt = Math.floor((sentAt + 700) / 1_000) * 1_000
    observe(servedAt, sentAt, sentAt + 900)
    expect(current()).toBe(0)
  }
})

it("updates the clock offset when the platform's clock is changed", () => {
  const { observe, current } = createClockOffset()
  observe(50_000, 110_000, 110_010)
  expect(current()).toBe(-59_001)
  observe(110_000, 110_500, 110_510)
  expect(current()).toBe(-510)
})
