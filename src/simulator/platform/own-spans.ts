// The spans that a simulated job writes to its artifacts, as an SDK's file exporter would.
import { Random } from './random.ts'
import type { SimJob } from './state.ts'

/** Their path in the artifacts. */
export const ownSpansPath = 'telemetry/spans.otlp.json'

/** OTLP/JSON; undefined for a job without such spans. */
export function ownSpansOf({ id, plan, startedAt, finishedAt, artifactsSize }: SimJob): string | undefined {
  if (plan.spans !== true || startedAt === undefined || finishedAt === undefined) return undefined
  if (artifactsSize === undefined) return undefined
  const random = new Random(id)
  const traceId = random.hex(32)
  const root = random.hex(16)
  const took = finishedAt - startedAt
  const at = (share: number): string => `${Math.round(startedAt + took * share)}000000`
  const span = (name: string, from: number, to: number, more: object = {}): object => ({
    ...{ traceId, spanId: random.hex(16), parentSpanId: root, name, kind: 1 },
    ...{ startTimeUnixNano: at(from), endTimeUnixNano: at(to), ...more },
  })
  const spans = [
    { ...span('compose up', 0.15, 0.4), spanId: root, parentSpanId: '' },
    span('start database', 0.16, 0.28, {
      attributes: [{ key: 'db.system.name', value: { stringValue: 'postgresql' } }],
    }),
    span('migrate', 0.28, 0.39, { attributes: [{ key: 'migrations', value: { intValue: '14' } }] }),
  ]
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'compose' } }] },
        scopeSpans: [{ scope: { name: 'compose' }, spans }],
      },
    ],
  })
}
