// Tests trace and span IDs: the test vectors of the contract, and properties that hold for every input.
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  jobSpanId,
  parentOfPipeline,
  pipelineSpanId,
  sectionSpanId,
  traceIdOf,
  type Identified,
} from '../../../src/core/telemetry/otlp/ids.ts'
import { instance } from './stories.ts'
import { traceContext } from './arbitraries.ts'
import type { TraceContext } from '../../../src/model/trace-context.ts'

function chunk(scheme: TraceContext['scheme'], root = 123, more: Partial<TraceContext> = {}, attempt = 1): Identified {
  const trace = { scheme, profile: 'generic', rootPipelineId: root, ...more }
  return { key: { instance, pipelineId: 123 }, trace, attempt }
}

const job = { id: 1, kind: 'job' } as const
const bridge = { id: 2, kind: 'bridge' } as const
const sampled = { traceFlags: 1 }
const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00'

describe('the test vectors for the `instance` scheme', () => {
  it.each([
    ['the trace with root 123', traceIdOf(chunk('instance').trace, instance), '5fbe2c4b2ade95c4e545a4025a7fadc5'],
    ['pipeline 123', pipelineSpanId(chunk('instance')), 'b2562e297a82cf07'],
    ['pipeline 123, attempt 2', pipelineSpanId(chunk('instance', 123, {}, 2)), 'b36ecb05e9c17b9d'],
    ['job 1', jobSpanId(chunk('instance'), job), 'c1a58a5c29466016'],
    ['job 1, attempt 2', jobSpanId(chunk('instance'), { ...job, salt: '2' }), '8602b7b843019a9d'],
    [
      'a bridge, which is computed like that of a job',
      jobSpanId(chunk('instance'), { ...bridge, id: 1 }),
      'c1a58a5c29466016',
    ],
    ['section 1 of job 1', sectionSpanId(chunk('instance'), job, 1), 'b0cd152fe3ad79ce'],
  ])('computes the expected ID of %s', (_, id, expected) => {
    expect(id).toBe(expected)
  })
})

describe('the test vectors for the `platform` scheme', () => {
  it.each([
    ['the trace with root 123', traceIdOf(chunk('platform').trace, instance), '0000000000000000000000000000007b'],
    ['pipeline 123', pipelineSpanId(chunk('platform')), '136bcb60d0df151b'],
    ['pipeline 123, attempt 2', pipelineSpanId(chunk('platform', 123, {}, 2)), '5ef141cec367aae8'],
    ['job 1', jobSpanId(chunk('platform'), job), 'c107f83c3bffde41'],
    ['job 1, attempt 2', jobSpanId(chunk('platform'), { ...job, salt: '2' }), '2d406ebd68c8825c'],
    ['pipeline 123 with root 100', pipelineSpanId(chunk('platform', 100)), 'ce2155075864c58b'],
    ['job 1 with root 100', jobSpanId(chunk('platform', 100), job), '0352fd9ca0a1e4b2'],
    ['section 1 of job 1', sectionSpanId(chunk('platform'), job, 1), '70ea01c17a5c96f5'],
    ['bridge 2', jobSpanId(chunk('platform'), bridge), '0000000000000002'],
    ['bridge 2, attempt 2', jobSpanId(chunk('platform'), { ...bridge, salt: '2' }), '51b2aadeab0e9b4d'],
  ])('computes the expected ID of %s', (_, id, expected) => {
    expect(id).toBe(expected)
  })
})

describe('the parent of a trace', () => {
  it('takes the trace and the parent from a traceparent, sampled or not', () => {
    const honoured = chunk('instance', 123, { traceparent })
    expect(traceIdOf(honoured.trace, instance)).toBe('4bf92f3577b34da6a3ce929d0e0e4736')
    expect(parentOfPipeline(honoured)).toMatchObject({ spanId: '00f067aa0ba902b7', isRemote: true, ...sampled })
  })

  it("prefers a bridge over a traceparent as the parent, but keeps the traceparent's trace", () => {
    const child = chunk('platform', 123, { traceparent, parent: { jobId: 2, kind: 'bridge' } })
    expect(parentOfPipeline(child)).toMatchObject({
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      spanId: '0000000000000002',
    })
  })

  it.each(['', '00-4bf92f35', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, `00-${'a'.repeat(32)}-${'0'.repeat(16)}-01`])(
    'ignores an invalid traceparent: %j',
    invalid => {
      const context = chunk('instance', 123, { traceparent: invalid })
      expect(traceIdOf(context.trace, instance)).toBe('5fbe2c4b2ade95c4e545a4025a7fadc5')
      expect(parentOfPipeline(context)).toBeUndefined()
    },
  )
})

describe('every ID', () => {
  const id = fc.nat({ max: Number.MAX_SAFE_INTEGER })
  const salt = fc.option(fc.constantFrom('2', '3', '2.2'), { nil: undefined })

  it('makes every ID lower-case hex of the right length, never all zero', () => {
    fc.assert(
      fc.property(traceContext, id, id, salt, (context, root, number, ofSpan) => {
        const trace = { ...context, rootPipelineId: root }
        const identified = { key: { instance, pipelineId: number }, trace, attempt: 1 }
        expect(traceIdOf(trace, instance)).toMatch(/^(?!0{32})[0-9a-f]{32}$/)
        for (const kind of ['job', 'bridge'] as const) {
          expect(jobSpanId(identified, { id: number, kind, salt: ofSpan })).toMatch(/^(?!0{16})[0-9a-f]{16}$/)
        }
        expect(pipelineSpanId(identified)).toMatch(/^(?!0{16})[0-9a-f]{16}$/)
      }),
    )
  })

  it('rehashes an ID that would be all zero', () => {
    const digest = (bytes: number) => createHash('sha256').update(Buffer.alloc(bytes)).digest()
    const zero = chunk('platform', 0)
    expect(traceIdOf(zero.trace, instance)).toBe(digest(16).toString('hex', 0, 16))
    expect(jobSpanId(zero, { id: 0, kind: 'bridge' })).toBe(digest(8).toString('hex', 0, 8))
  })

  it('derives distinct IDs for distinct pipelines, jobs, attempts and salts', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('instance' as const, 'platform' as const),
        fc.uniqueArray(id, { minLength: 2 }),
        (scheme, ids) => {
          const spans = ids.flatMap(one => {
            const identified = { ...chunk(scheme), key: { instance, pipelineId: one } }
            return [
              pipelineSpanId(identified),
              pipelineSpanId(identified, 2),
              jobSpanId(identified, { id: one, kind: 'job' }),
              jobSpanId(identified, { id: one, kind: 'job', salt: '2' }),
              jobSpanId(identified, { id: one, kind: 'job', salt: '2.2' }),
            ]
          })
          expect(new Set(spans).size).toBe(spans.length)
          expect(new Set(ids.map(root => traceIdOf(chunk(scheme, root).trace, instance))).size).toBe(ids.length)
        },
      ),
    )
  })
})
