// Measures how long the server takes for each page with a store of 100,000 runs, or of any other number. The pages are requested one after another,
// and the times are printed as a table.
//
//   node bench/pages.ts [runs] [repetitions] [file or postgres://…] [pattern of hidden projects]
//
// A store that already exists, in a file or in a PostgreSQL database, is measured unchanged. Otherwise the store is filled first, and kept for the
// next time.
import { countFigures } from '../test/support/counted-figures.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fastify } from 'fastify'
import { chooser } from '../src/lib/chooser.ts'
import { createPages } from '../src/console/routes.ts'
import { manyRuns } from '../test/core/store/many-runs.ts'
import { openPostgres } from '../src/core/store/postgres/open-postgres.ts'
import { openSqlite } from '../src/core/store/sqlite/open-sqlite.ts'
import { sendsNothing } from '../src/core/store/ports/outbox.ts'
import { everything, type Scope } from '../src/core/store/ports/scope.ts'
import { silentLog } from '../src/lib/log.ts'
import { telemetrySettings } from '../src/core/telemetry/settings.ts'
import { hasSpan, isDerivedTraceId, traceIdOf } from '../src/core/telemetry/otlp/ids.ts'
import { plainAttributes } from '../src/core/telemetry/otlp/attribute.ts'
import { resourceAttributesOf } from '../src/core/telemetry/resource.ts'
import { shownSpans } from '../src/core/telemetry/shown-span.ts'
import type { PagesSources } from '../src/console/ports.ts'
import type { Store } from '../src/core/store/ports/store.ts'

const [runs = 100_000, repetitions = 40] = process.argv.slice(2, 4).map(Number)
const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-bench-'))
const file = process.argv[4] ?? path.join(folder, 'p.db')
const hidden = process.argv[5]
const options = { now: () => Date.now(), maxSize: 2 ** 40, encode: sendsNothing }
const store = file.startsWith('postgres') ? await openPostgres(file, options) : openSqlite(file, options)
try {
  if ((await store.views.projects(1)).length === 0) await fill()
  await measure(store)
} finally {
  await store.close()
  rmSync(folder, { recursive: true })
}

async function fill(): Promise<void> {
  const began = performance.now()
  await manyRuns({ store, runs, until: Date.now() })
  await countFigures(store)
  console.error(`${runs} runs written in ${Math.round((performance.now() - began) / 1_000)} s`)
}

async function measure(filled: Store): Promise<void> {
  const app = fastify()
  await app.register(
    createPages({
      sourcesOf: () => partsOf(filled),
      sessions: filled.repositories.sessions,
      settings: { adminToken: () => undefined },
      features: [],
    }),
  )
  const [project = ''] = await filled.views.projects(1)
  const [newest] = (await filled.views.search({ project, limit: 1 })).runs
  if (newest === undefined) throw new Error('the store has no runs')
  const { key, project: known, jobs } = newest.run
  const projectId = known.facts.id
  const pipeline = `/pipelines/${projectId}/${key.pipelineId}`
  const oldest = (await filled.views.listedKeys(runs)).at(-1) ?? key
  const addresses = [
    ['Overview', '/'],
    ['Pipelines', '/pipelines'],
    ['… failed ones of a project', `/pipelines?project=${encodeURIComponent(project)}&status=failed`],
    ['… of a branch and a source', '/pipelines?ref=release/24.6&source=schedule'],
    ['… with a word that none has', '/pipelines?text=nothing+is+called+like+this'],
    ['… with a job', '/pipelines?job=unit'],
    ['… with a job that none has', '/pipelines?job=nobody'],
    [
      '… of the oldest trace',
      `/pipelines?text=${traceIdOf({ scheme: 'instance', profile: 'generic', rootPipelineId: oldest.pipelineId }, oldest.instance)}`,
    ],
    ['… of a span that none has', '/pipelines?text=abababababababab'],
    ['A pipeline', pipeline],
    ['… beside the last that passed', `${pipeline}/compare?with=green`],
    ['A job', `${pipeline}/jobs/${[...jobs.keys()][0]}`],
    ['Trends of a day', '/trends?span=24h'],
    ['… of 30 days', '/trends?span=30d'],
    ['… of a project', `/trends?span=30d&project=${projectId}`],
    ['… of a job', `/trends?span=30d&project=${projectId}&job=unit`],
    ['… of a branch, counted anew', '/trends?span=30d&ref=main'],
    ['Cost of 30 days', '/cost?span=30d'],
    ['… of a project', `/cost?span=30d&project=${projectId}`],
    ['Flaky tests', '/tests'],
    ['Failing and slow tests', '/tests/costly'],
    ['Changes', '/changes'],
    ['Timeline', '/timeline'],
    ['Environments', '/environments'],
    ['Sources', '/sources'],
    ['Exports', '/exports'],
    ['Tokens', '/tokens'],
  ] as const
  console.log('| page | p50 | p95 |\n| --- | ---: | ---: |')
  for (const [name, url] of addresses) {
    const times: number[] = []
    for (let count = 0; count < repetitions; count += 1) {
      const start = performance.now()
      const { statusCode } = await app.inject({ url, headers: { host: 'localhost' } })
      times.push(performance.now() - start)
      if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`)
    }
    times.sort((a, b) => a - b)
    const at = (share: number): string => `${(times[Math.floor(times.length * share)] ?? 0).toFixed(0)} ms`
    console.log(`| ${name} | ${at(0.5)} | ${at(0.95)} |`)
  }
  await app.close()
}

function partsOf({ reads, outbox, quarantine, counters }: Store): PagesSources {
  const settings = telemetrySettings()
  const isShown = chooser({ exclude: hidden === undefined ? [] : [hidden] })
  const scope: Scope = hidden === undefined ? everything : { bounds: 'hidden', sees: ({ path }) => isShown(path) }
  return {
    ...{ ...reads(scope), bounds: scope.bounds, quarantine, counters, log: silentLog() },
    ...{ clockOffset: () => undefined, now: () => Date.now() },
    contentsOf: () => undefined,
    queues: async () =>
      (await outbox.queues()).map(({ lastError: _, ...queue }) => ({
        ...queue,
        state: 'closed',
        counters: { delivered: 0, repeated: 0, partiallyRejected: 0 },
      })),
    flow: () => ({
      ...{ startedAt: 0, received: 0, accepted: 0, duplicate: 0, ignored: {}, refused: [] },
      ...{
        processed: 0,
        unparseable: 0,
        excluded: 0,
        attempts: 0,
        supplements: 0,
        unrouted: 0,
        apiClients: {},
        platformErrors: [],
        platformAnswered: false,
      },
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
    isTraceOf: (traceId, { instance, pipelineId }) => isDerivedTraceId(traceId, instance, pipelineId),
    hasSpan,
    failureDomain: () => 'unknown',
    setup: () => ({
      webhooks: '',
      hasPlatformToken: false,
      hasWebhookSecret: true,
      platforms: [],
      isExportOff: false,
      destinations: [],
    }),
    tryNow: async () => ({ due: 0, probes: 0 }),
    onRetried: () => undefined,
  }
}
