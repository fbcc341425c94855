import { describe, expect, it } from 'vitest'
import { createGate, type Gate } from '../../src/export/gate.ts'
import { Secret } from '../../src/lib/secret.ts'
import { silentLog } from '../../src/lib/log.ts'
import { tick } from '../../src/export/order.ts'

const pauses = { first: 1_000, max: 60_000 }

/** A gate on a clock that the test moves. */
function gateAt(start: number, token = 'one') {
  let now = start
  let current = token
  let opened = 0
  const gate: Gate = createGate({
    destination: 'default',
    bearer: { current: () => new Secret(current), reload: async () => undefined },
    pauses,
    clock: { now: () => now, sleep: async () => undefined },
    log: silentLog(),
    onOpen: () => (opened += 1),
  })
  return {
    gate,
    now: () => now,
    rotate: (to: string) => (current = to),
    opened: () => opened,
    /** Ms until the next probe is let in. */
    untilProbe: async (): Promise<number> => {
      const since = now
      for (;;) {
        const admission = await gate.admit()
        if (admission.go === 'probe') return now - since
        if (admission.go === 'all') throw new Error('the gate is open')
        now += admission.ms
      }
    },
  }
}

describe('the gate of a destination', () => {
  it('lets one probe in at growing pauses, a minute at most', async () => {
    const { gate, untilProbe } = gateAt(0)
    gate.unauthorized('HTTP 401: no', new Secret('one'))
    const waits: number[] = []
    for (let probe = 0; probe < 12; probe += 1) {
      waits.push(await untilProbe())
      expect(await gate.admit()).toMatchObject({ go: 'wait' })
      gate.probed(true)
    }
    waits.forEach((wait, index) => {
      const full = Math.min(60_000, 1_000 * 2 ** index)
      expect(wait).toBeGreaterThanOrEqual(full / 2)
      expect(wait).toBeLessThanOrEqual(full)
    })
  })

  it('lets the next lane probe at once when the one before had nothing to send', async () => {
    const { gate, untilProbe } = gateAt(0)
    gate.unauthorized('HTTP 401: no', new Secret('one'))
    await untilProbe()
    gate.probed(false)
    expect(await gate.admit()).toEqual({ go: 'probe' })
  })

  it('lets a probe in at once when the token is another one than was refused, but once only', async () => {
    const { gate, rotate } = gateAt(0)
    gate.unauthorized('HTTP 401: no', new Secret('one'))
    expect(await gate.admit()).toMatchObject({ go: 'wait' })
    rotate('two')
    expect(await gate.admit()).toEqual({ go: 'probe' })
    gate.unauthorized('HTTP 401: no', new Secret('two'))
    gate.probed(true)
    expect(await gate.admit()).toMatchObject({ go: 'wait' })
  })

  it('is not opened by an answer to a request from before the refusal', () => {
    const { gate, opened } = gateAt(0)
    const before = tick()
    gate.unauthorized('HTTP 401: no', new Secret('one'))
    gate.accepted(before)
    expect(gate.state).toBe('unauthorized')
    gate.authorized(tick())
    expect(gate.state).toBe('open')
    expect(opened()).toBe(1)
  })

  it('is opened from holding by nothing but an acceptance', () => {
    const { gate } = gateAt(0)
    gate.hold('HTTP 400: what is this')
    gate.authorized(tick())
    expect(gate.state).toBe('held')
    gate.accepted(tick())
    expect(gate.state).toBe('open')
    expect(gate.hasAccepted).toBe(true)
  })

  it('has what was refused wait until the next probe is out, so that others are tried', async () => {
    const { gate, now, untilProbe } = gateAt(0)
    let due = gate.hold('HTTP 400: what is this')
    for (let probe = 0; probe < 10; probe += 1) {
      await untilProbe()
      expect(due).toBeGreaterThanOrEqual(now())
      due = gate.hold('HTTP 400: what is this')
      gate.probed(true)
    }
  })
})
