// Tests malformed payloads at all stages: they are parsed, merged, planned, put into snapshots, mapped and encoded. Nothing may throw, and every
// export must be valid for a backend. A long run: PIPESPAN_FUZZ_RUNS=600000 PIPESPAN_FUZZ_SEED=1 vitest run test/fuzz/payloads.test.ts --testTimeout
// 0
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { canonical } from '../../src/model/versioned.ts'
import { decodeLogs, decodeMetrics, decodeTraces } from '../support/otlp-decode.ts'
import { encodeLogs, encodeMetrics, encodeTraces } from '../../src/core/telemetry/encode.ts'
import { fuzzing, mutated, type Mutated } from './mutations.ts'
import { observedRun, mergeRun, type Run } from '../../src/model/run.ts'
import { measure } from '../../src/core/telemetry/metrics/samples.ts'
import { parseDelivery } from '../../src/platform/webhook/parse-delivery.ts'
import { plan } from '../../src/model/settle.ts'
import { profiles } from '../../src/daemon/profile.ts'
import { remember, revive } from '../../src/model/tombstone.ts'
import { telemetrySettings } from '../../src/core/telemetry/settings.ts'
import { traceContextOf } from '../../src/model/family.ts'
import type { Chunk } from '../../src/model/chunk.ts'
import type { Observation } from '../../src/model/observation.ts'

const settings = telemetrySettings({ profiles })
const rules = { settle: 0, deadline: 0, blockedAfter: 0, staleAfter: 0, chunkSize: 500 }
const family = { scheme: 'instance' as const, profile: 'generic', bridgesWillCome: false }
const now = Date.UTC(2026, 6, 1)

function parse({ event, body }: Mutated): Observation | undefined {
  const reported = { event, instance: 'https://git.example.com', body: Buffer.from(body) }
  const parsed = parseDelivery(reported, { profile: profiles.generic, traceparent: true })
  return parsed.outcome === 'observation' ? parsed.observation : undefined
}

/** Takes all due snapshots of the run. */
function snapshotsOf(run: Run): { run: Run; chunks: Chunk[] } {
  const chunks: Chunk[] = []
  for (let steps = 0; ; steps += 1) {
    const next = plan(run, traceContextOf(run, [], family), rules, { now, changedAt: 0, endedAt: 0 })
    if (next.step !== 'snapshot') return { run, chunks }
    must(steps < 20, 'it comes to rest')
    run = next.snapshot.run
    chunks.push(...next.snapshot.chunks)
  }
}

function expectSendable(stored: readonly Chunk[]): void {
  // The chunks are converted to JSON and back, because the store returns them in that form.
  const chunks = JSON.parse(JSON.stringify(stored)) as Chunk[]
  const spans = decodeTraces(encodeTraces(chunks, settings))
  must(new Set(spans.map(({ spanId }) => spanId)).size === spans.length, 'span ids are unique')
  for (const { startNanos, endNanos, traceId, spanId, name } of spans) {
    must(/^(?!0+$)[0-9a-f]{32}$/.test(traceId) && /^(?!0+$)[0-9a-f]{16}$/.test(spanId), 'ids are valid')
    must(startNanos > 0n && startNanos <= endNanos && endNanos < 2n ** 63n, 'times are in order')
    must(name !== '', 'a span has a name')
  }
  decodeLogs(encodeLogs(chunks, settings))
  decodeMetrics(encodeMetrics(chunks, settings))
  for (const chunk of chunks) {
    for (const { amount } of measure(chunk, settings)?.increments ?? []) {
      const values = amount.kind === 'sum' ? [amount.by] : amount.kind === 'last' ? [amount.value] : amount.counts
      must(values.every(Number.isFinite), 'measures are numbers')
    }
  }
}

/** Asserts like `expect`, but fast enough for millions of calls. */
function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(`not true: ${what}`)
}

it('turns any payload into nothing or into a valid export, which is the same for any order of arrival', () => {
  const pair = fc.tuple(mutated, fc.option(mutated, { nil: undefined, freq: 3 }))
  fc.assert(
    fc.property(pair, ([one, other]) => {
      const observed = [one, other].flatMap(payload => (payload && parse(payload)) ?? [])
      const [first, second] = observed.map(observedRun)
      if (first === undefined) return
      const same = second === undefined ? undefined : { ...second, key: first.key }
      const merged = same === undefined ? first : mergeRun(first, same)
      if (same !== undefined) {
        const turned = mergeRun(same, first)
        must(canonical(turned.pipeline ?? null) === canonical(merged.pipeline ?? null), 'pipelines merge in any order')
        for (const [id, job] of merged.jobs) {
          must(canonical(turned.jobs.get(id)) === canonical(job), 'jobs merge in any order')
        }
      }
      const { run, chunks } = snapshotsOf(merged)
      expectSendable(chunks)
      const memory = remember(run)
      if (memory === undefined) return
      const again = mergeRun(revive(memory), first)
      const entries = snapshotsOf(same === undefined ? again : mergeRun(again, same)).chunks
      must(entries.length === 0, 'what was pruned is not pending again')
    }),
    fuzzing(1_000),
  )
  expect(Object.prototype).not.toHaveProperty('polluted')
})
