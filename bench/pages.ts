// Measures how long the shipped daemon takes to serve each page from a store with 100,000 runs, or any other number. Requests are sent one after
// another.
//
//   node bench/pages.ts [runs] [repetitions] [folder] [pattern of hidden projects]
//
// If the folder already contains a store, it is measured as it is. Otherwise a store is created, filled, and left there for the next time.
import { existsSync } from 'node:fs'
import path from 'node:path'
import { countFigures } from '../test/support/counted-figures.ts'
import { manyRuns } from '../test/core/store/many-runs.ts'
import { features } from '../src/features.ts'
import { openSqlite } from '../src/core/store/sqlite/open-sqlite.ts'
import { sendsNothing } from '../src/core/store/ports/outbox.ts'
import { tablesOf } from '../src/daemon/feature.ts'
import { traceIdOf } from '../src/core/telemetry/otlp/ids.ts'
import { startDaemon, storeFile, temporaryFolder } from './processes.ts'

interface Listed {
  readonly instance: string
  readonly projectId: number
  readonly project: string
  readonly pipelineId: number
  readonly jobs: readonly { readonly id: number }[]
}

const [runs = 100_000, repetitions = 40] = process.argv.slice(2, 4).map(Number)
using own = temporaryFolder()
const folder = process.argv[4] ?? own.path
const hidden = process.argv[5]

if (!existsSync(path.join(folder, storeFile))) await fill(path.join(folder, storeFile))
await using daemon = await startDaemon({
  folder,
  env: {
    PIPESPAN_RETENTION: '90d',
    PIPESPAN_STORE_MAX_SIZE: '1TiB',
    ...(hidden !== undefined && { PIPESPAN_PAGES_HIDE: hidden }),
  },
})
await measure()

async function fill(file: string): Promise<void> {
  const began = performance.now()
  const store = openSqlite(file, {
    now: () => Date.now(),
    maxSize: 2 ** 40,
    encode: sendsNothing,
    parts: tablesOf(features),
  })
  await manyRuns({ store, runs, until: Date.now(), exportQueues: [] })
  await countFigures(store)
  await store.close()
  console.error(`${runs} runs written in ${Math.round((performance.now() - began) / 1_000)} s`)
}

async function ask(address: string): Promise<Response> {
  const answer = await fetch(`http://127.0.0.1:${daemon.admin}${address}`)
  if (answer.status !== 200) throw new Error(`${address} answered ${answer.status}`)
  return answer
}

async function measure(): Promise<void> {
  const { pipelines } = (await (await ask('/api/pipelines?limit=1')).json()) as { pipelines: Listed[] }
  const [newest] = pipelines
  if (newest === undefined) throw new Error('the store has no runs')
  const { instance, project, projectId, pipelineId, jobs } = newest
  const pipeline = `/pipelines/${projectId}/${pipelineId}`
  const oldest = traceIdOf({ scheme: 'instance', profile: 'generic', rootPipelineId: 1_000 }, instance)
  const addresses = [
    ['Overview', '/'],
    ['Pipelines', '/pipelines'],
    ['… failed ones of a project', `/pipelines?project=${encodeURIComponent(project)}&status=failed`],
    ['… of a branch and a source', '/pipelines?ref=release/24.6&source=schedule'],
    ['… with a search that finds nothing', '/pipelines?text=nothing+is+called+like+this'],
    ['… with a job', '/pipelines?job=unit'],
    ['… with an unknown job', '/pipelines?job=nobody'],
    ['… of the oldest trace', `/pipelines?text=${oldest}`],
    ['… of an unknown span', '/pipelines?text=abababababababab'],
    ['A pipeline', pipeline],
    ['… compared with the last successful one', `${pipeline}/compare?with=green`],
    ['A job', `${pipeline}/jobs/${jobs[0]?.id}`],
    ['Trends of a day', '/trends?span=24h'],
    ['… of 30 days', '/trends?span=30d'],
    ['… of a project', `/trends?span=30d&project=${projectId}`],
    ['… of a job', `/trends?span=30d&project=${projectId}&job=unit`],
    ['… of a branch, computed from the runs', '/trends?span=30d&ref=main'],
    ['Regressions', '/trends/regressions'],
    ['Cost of 30 days', '/cost?span=30d'],
    ['… of a project', `/cost?span=30d&project=${projectId}`],
    ['Flaky tests', '/tests'],
    ['Failing and slow tests', '/tests/costly'],
    ['Runners', '/runners'],
    ['Changes', '/changes'],
    ['Timeline', '/timeline'],
    ['Environments', '/environments'],
    ['Sources', '/sources'],
    ['Exports', '/exports'],
    ['Tokens', '/tokens'],
  ] as const
  console.log('| page | first | p50 | p95 |\n| --- | ---: | ---: | ---: |')
  for (const [name, url] of addresses) {
    const times: number[] = []
    for (let count = 0; count < repetitions; count += 1) {
      const start = performance.now()
      await (await ask(url)).text()
      times.push(performance.now() - start)
    }
    const [first = 0] = times
    times.sort((a, b) => a - b)
    const at = (share: number): number => times[Math.floor(times.length * share)] ?? 0
    console.log(`| ${name} | ${[first, at(0.5), at(0.95)].map(ms => `${ms.toFixed(0)} ms`).join(' | ')} |`)
  }
}
