// Around all test files of a run: what ships is built anew where it is older than its sources, as tests start the bundle, from which a
// daemon starts with half the processor time. One PostgreSQL server for all, started when the first database is asked for. And a place for
// their files in memory, where there is room: a disk under load lets each of a thousand small stores wait.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { compiled, shipped } from './shipped.ts'
import { folderInMemory } from './folder-in-memory.ts'
import { isFull } from './full.ts'
import { startPostgres, type PostgresServer } from './core/store/postgres-server.ts'

const root = path.dirname(import.meta.dirname)
/** What a bundle is made of. */
const sources = ['src', 'scripts', 'package-lock.json', 'package.json'].map(name => path.join(root, name))

export default async function aroundAll(project: TestProject): Promise<() => Promise<void>> {
  build()
  project.onTestsRerun(build)
  // The long form writes to the disk. A process that is killed leaves the same behind on both.
  const place = isFull ? undefined : folderInMemory()
  if (place !== undefined) process.env.TMPDIR = place
  let server: Promise<PostgresServer> | undefined
  const desk = createServer((_, answer) => {
    server ??= startPostgres({ connections: 300 })
    void server
      .then(async started => started.newDatabase())
      .then(
        url => answer.end(url),
        (error: unknown) => answer.writeHead(500).end(String(error)),
      )
  })
  await new Promise<void>(resolve => desk.listen(0, '127.0.0.1', resolve))
  project.provide('newDatabase', `http://127.0.0.1:${(desk.address() as AddressInfo).port}`)
  return async () => {
    desk.close()
    desk.closeAllConnections()
    await (await server)?.dispose()
    if (place !== undefined) rmSync(place, { recursive: true, force: true })
  }
}

function build(): void {
  if (existsSync(shipped) && Math.max(...sources.map(newest)) < statSync(shipped).mtimeMs) return
  rmSync(compiled, { recursive: true, force: true })
  execFileSync(process.execPath, [path.join(root, 'scripts', 'build.js')], { stdio: 'inherit' })
}

/** When this file, or any file of this folder, was last written. */
function newest(place: string): number {
  const found = statSync(place)
  if (!found.isDirectory()) return found.mtimeMs
  return Math.max(found.mtimeMs, ...readdirSync(place).map(name => newest(path.join(place, name))))
}
