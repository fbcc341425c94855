// Tests the status of export queues, and the check of the configured destinations.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { destination, nowhere, openBench, queueOf, type Bench } from './bench.ts'

describe('an exporter', () => {
  let bench: Bench
  beforeEach(() => {
    bench = closeAfterTest(openBench())
  })

  it.each([
    ['unserved', 'gone'],
    ['held', 'default@1f3c9a2b'],
  ])(
    'reports the state %s if exports are pending for the unknown destination %s, with all counters at zero',
    async (state, name) => {
      await bench.enqueue([1, 2], [{ destination: name, signal: 'logs' }])
      const exporter = bench.exporter([destination(nowhere)])
      const counters = { delivered: 0, repeated: 0, rejected: 0, later: 0, partiallyRejected: 0, lost: 0 }
      const shown = { destination: name, signal: 'logs', state, pending: 2, dead: 0, putOff: 0, counters }
      expect(await queueOf(exporter, name, 'logs')).toEqual({ ...shown, oldest: expect.any(Number) as unknown })
    },
  )

  it('reports a duplicate destination name as a configuration error', () => {
    const twice = [destination(nowhere), destination(nowhere)]
    expect(() => bench.exporter(twice)).toThrow(/Two destinations are named "default"\. Give each a unique name/)
  })
})
