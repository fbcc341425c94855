// What compiling takes for a moment is kept by the allocator for good.
import { expect, it } from 'vitest'
import { spawnSync } from 'node:child_process'
import path from 'node:path'

const program = `
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

/** The most that the compilers had at a time, MiB, after the process has sent 1,500 requests. */
function peakOf(...args: string[]): number {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--no-warnings', '--no-maglev', '--input-type=module', '-e', program, '--', ...args],
    { cwd: path.join(import.meta.dirname, '../..'), encoding: 'utf8' },
  )
  expect(stderr).toBe('')
  return Number(stdout) / 2 ** 20
}

it('the parser of the HTTP client is compiled once: a process that sends requests takes a fraction of the memory to compile', () => {
  const once = peakOf('once')
  expect(once).toBeLessThan(6)
  expect(peakOf()).toBeGreaterThan(2 * once)
})
