// Tests that a daemon keeps its memory small. The memory is measured in a separate process.
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

/** Runs the program and returns the number that it prints. */
function printed(program: string, ...args: string[]): number {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--no-warnings', '--no-maglev', '--input-type=module', '-e', program, '--', ...args],
    { cwd: path.join(import.meta.dirname, '../..'), encoding: 'utf8' },
  )
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
  return Number(stdout)
}

it("compiles the HTTP client's parser only once, which takes less than half of the memory of repeated compilation", () => {
  const once = printed(requests, 'once')
  expect(once).toBeLessThan(6 * 2 ** 20)
  expect(printed(requests)).toBeGreaterThan(2 * once)
})
