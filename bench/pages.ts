// How long the pages take over a store with 100,000 runs: the server's time for each, asked one after the other.
//
//   node bench/pages.ts [runs] [repetitions]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fastify } from 'fastify'
import { createPages } from '../src/pages/routes.ts'
import { manyRuns } from '../test/store/many-runs.ts'
import { openSqlite } from '../src/store/sqlite/open-sqlite.ts'
import { silentLog } from '../src/lib/log.ts'
import { telemetrySettings } from '../src/telemetry/settings.ts'
import { derivedTraceIds } from '../src/telemetry/otlp/ids.ts'
import { plainAttributes } from '../src/telemetry/otlp/attribute.ts'
import { resourceAttributesOf } from '../src/telemetry/resource.ts'
import { shownSpans } from '../src/telemetry/shown-span.ts'
import type { PagesSources } from '../src/pages/ports.ts'
import type { Store } from '../src/store/ports/store.ts'

const [runs = 100_000, repetitions = 40] = process.argv.slice(2).map(Number)
const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-bench-'))
const store = openSqlite(path.join(folder, 'p.db'), { now: () => Date.now(), maxSize: 2 ** 40 })
try {
  const began = performance.now()
  await manyRuns({ store, runs, until: Date.now() })
  while ((await store.views.trends.takeIn(1_000)) > 0);
  console.log(`${runs} runs written in ${Math.round((performance.now() - began) / 1_000)} s`)
  await measure(store)
} finally {
  await store.close()
  rmSync(folder, { recursive: true })
}

async function measure(filled: Store): Promise<void> {
  const app = fastify()
  await app.register(createPages({ parts: partsOf(filled), settings: { adminToken: () => undefined } }))
  const middle = 1_000 + Math.floor(runs / 2)
  const [project] = await filled.views.projects(1)
  const found = await filled.views.search({ project, limit: 1 })
  const projectId = found.runs[0]?.run.project.facts.id ?? 0
  const pipeline = found.runs[0]?.run.key.pipelineId ?? middle
  const addresses = [
    '/',
    '/pipelines',
    `/pipelines?project=${encodeURIComponent(project ?? '')}&status=failed`,
    '/pipelines?ref=release/24.6&source=schedule',
    '/pipelines?text=nothing+is+called+like+this',
    `/pipelines/${projectId}/${pipeline}`,
    '/trends?span=24h',
    '/trends?span=30d',
    `/trends?span=30d&project=${projectId}`,
    `/trends?span=30d&project=${projectId}&job=unit`,
    '/tests',
    '/tests/costly',
    '/environments',
    '/sources',
    '/exports',
    '/tokens',
  ]
  for (const url of addresses) {
    const times: number[] = []
    for (let count = 0; count < repetitions; count += 1) {
      const start = performance.now()
      const { statusCode } = await app.inject({ url, headers: { host: 'localhost' } })
      times.push(performance.now() - start)
      if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`)
    }
    times.sort((a, b) => a - b)
    const at = (share: number): string => (times[Math.floor(times.length * share)] ?? 0).toFixed(1).padStart(7)
    console.log(`${at(0.5)} ms median ${at(0.95)} ms p95  ${url}`)
  }
  await app.close()
}

function partsOf({
  views,
  runs: all,
  outbox: exports,
  inbox,
  tests,
  deployments,
  changes,
  repositories,
  counters,
}: Store): PagesSources {
  const settings = telemetrySettings()
  return {
    ...{
      views,
      runs: all,
      outbox: exports,
      inbox,
      tests,
      deployments,
      changes,
      repositories,
      counters,
      log: silentLog(),
      now: () => Date.now(),
    },
    preview: async () => undefined,
    queues: async () =>
      (await exports.queues()).map(({ lastError: _, ...queue }) => ({
        ...queue,
        state: 'closed',
        counters: { delivered: 0, repeated: 0, partiallyRejected: 0 },
      })),
    flow: () => ({
      ...{ startedAt: 0, received: 0, accepted: 0, duplicate: 0, ignored: {}, refused: [] },
      ...{ processed: 0, unparseable: 0, excluded: 0, attempts: 0, supplements: 0, apiClients: {} },
    }),
    exported: chunks =>
      chunks.flatMap(chunk =>
        shownSpans(chunk, settings).map(span => ({
          ...span,
          attempt: chunk.attempt,
          resource: plainAttributes(resourceAttributesOf(chunk, settings)),
        })),
      ),
    legacyName: () => undefined,
    traceIds: ({ instance, pipelineId }) => derivedTraceIds(instance, pipelineId),
    failureDomain: () => 'unknown',
    setup: () => ({ webhooks: '', hasPlatformToken: false, hasWebhookSecret: true, destinations: [] }),
    tryNow: async () => ({ due: 0, probes: 0 }),
    onRetried: () => undefined,
  }
}
