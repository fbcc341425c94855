// Lists the files in src/ that process one webhook, from the socket to the export: `node bench/webhook-path.ts`. Needs Node 24, but no build.
//
// The daemon runs twice from its sources with V8's coverage, once idle and once with the webhook of a finished pipeline. A file is listed if one of
// its functions ran only in the second run.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { countsOf, startDaemon, startServer, type Running } from './processes.ts'
import { finishedPipeline } from './payload.ts'
import { token } from './load.ts'

interface Coverage {
  readonly result: readonly {
    readonly url: string
    readonly functions: readonly { readonly functionName: string; readonly ranges: readonly [Range, ...Range[]] }[]
  }[]
}
interface Range {
  readonly startOffset: number
  readonly count: number
}

const root = path.join(import.meta.dirname, '..')
const sources = path.join(root, 'src')
const idleMs = 3_000
const signals = 'traces,metrics,logs'

await using backend = await startServer('sink.ts')
const idle = await functionsOf(backend, async () => sleep(idleMs))
const loaded = await functionsOf(backend, async port => {
  await send(port)
  while ((await countsOf(backend)).pipelines === 0) await sleep(50)
  await sleep(idleMs)
})

const files = [...loaded].flatMap(([file, functions]) => {
  const before = idle.get(file)
  return [...functions].some(one => before?.has(one) !== true) ? [file] : []
})
const rooms = Map.groupBy(files.sort(), file => file.split('/')[0] ?? '')
for (const [room, paths] of [...rooms].sort((a, b) => b[1].length - a[1].length)) {
  console.log(`${room}: ${paths.length}`)
  if (process.argv.includes('--files')) for (const file of paths) console.log(`  ${file}`)
}
console.log(`${files.length} files of ${rooms.size} rooms`)

async function send(port: number): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/webhooks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-event': 'Pipeline Hook', 'x-service-token': token },
    body: finishedPipeline(20).body(1),
  })
  if (!answer.ok) throw new Error(`the daemon answered ${answer.status}`)
}

/** The functions that ran in each file, by name and position. */
async function functionsOf(
  { port }: Running,
  work: (port: number) => Promise<unknown>,
): Promise<Map<string, Set<string>>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-coverage-'))
  try {
    const daemon = await startDaemon({
      backend: port,
      env: { NODE_V8_COVERAGE: folder, SERVICE_OBSERVABILITY_EXPORT: signals },
      from: 'sources',
    })
    await work(daemon.port)
    await daemon.stop()
    return read(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function read(folder: string): Map<string, Set<string>> {
  const ran = new Map<string, Set<string>>()
  // Each thread writes its own coverage file.
  for (const name of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as Coverage
    for (const { url, functions } of result) {
      if (!url.startsWith('file:')) continue
      const file = path.relative(sources, fileURLToPath(new URL(url)))
      if (file.startsWith('..')) continue
      const names = ran.get(file) ?? new Set()
      ran.set(file, names)
      for (const { functionName, ranges } of functions)
        if (ranges[0].count > 0) names.add(`${functionName} ${ranges[0].startOffset}`)
    }
  }
  return ran
}
