// What a daemon does for its memory to stay small, seen from a process of its own.
import { expect, it } from 'vitest'
import { spawnSync } from 'node:child_process'
import path from 'node:path'

const requests = `
  import { createServer } from 'node:http'
  import { once } from 'node:events'
  import { getHeapStatistics } from 'node:v8'
  import { Pool } from 'undici'
  import { compileWebAssemblyOnce } from './src/lib/small-heap.ts'
  if (process.argv.includes('once')) compileWebAssemblyOnce()
  const server = createServer((request, response) => request.resume().on('end', () => response.end('{}'))).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const pool = new Pool('http://127.0.0.1:' + server.address().port)
  for (let n = 0; n < 1_500; n += 1) await (await pool.request({ path: '/', method: 'POST', body: 'x' })).body.text()
  process.stdout.write(String(getHeapStatistics().peak_malloced_memory))
  process.exit()`

/** Lives with 30 MiB, and replaces them again and again by others that live as long. Prints how often the old generation was collected. */
const garbage = `
  import { constants, PerformanceObserver } from 'node:perf_hooks'
  import { keepHeapsSmall } from './src/lib/small-heap.ts'
  keepHeapsSmall(process.argv.includes('limited') ? 256 * 2 ** 20 : undefined)
  let collections = 0
  const count = list => {
    for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) collections += 1
  }
  const observer = new PerformanceObserver(count)
  observer.observe({ entryTypes: ['gc'] })
  const live = Array.from({ length: 400_000 }, (_, at) => ({ at, next: at + 1 }))
  for (let n = 0; n < 6_000_000; n += 1) {
    // As in a daemon: V8 finishes a collection between two turns of the event loop.
    if (n % 2_000 === 0) await new Promise(setImmediate)
    live[n % live.length] = { at: n, next: n + 1 }
  }
  count({ getEntries: () => observer.takeRecords() })
  process.stdout.write(String(collections))`

/** The number that the program prints. */
function printed(program: string, ...args: string[]): number {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--no-warnings', '--no-maglev', '--input-type=module', '-e', program, '--', ...args],
    { cwd: path.join(import.meta.dirname, '../..'), encoding: 'utf8' },
  )
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
  return Number(stdout)
}

it('compiles the parser of the HTTP client once, which needs a fraction of the memory', () => {
  const once = printed(requests, 'once')
  expect(once).toBeLessThan(6 * 2 ** 20)
  expect(printed(requests)).toBeGreaterThan(2 * once)
})

it('collects the old generation more often in a small container', () => {
  expect(printed(garbage, 'limited')).toBeGreaterThan(1.4 * printed(garbage))
})
