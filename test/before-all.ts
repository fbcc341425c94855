// Runs before and after all test files:
//
// - It rebuilds the bundle if it is older than its sources. Tests start the daemon from the bundle, which takes half the processor time of starting
//   it from the sources.
// - It provides one PostgreSQL server for all tests, which is started when the first database is requested.
// - It creates an in-memory folder for the tests' files, if there is enough memory. On a disk under load, each of a thousand small stores would have
//   to wait.
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
/** The sources of the bundle. */
const sources = ['src', 'scripts', 'package-lock.json', 'package.json'].map(name => path.join(root, name))

export default async function aroundAll(project: TestProject): Promise<() => Promise<void>> {
  build()
  project.onTestsRerun(build)
  // The long form writes to the disk. The short form can use memory, because a killed process leaves the same files in memory as on disk.
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

/** Returns the modification time of a file, or of the newest file in a folder. */
function newest(place: string): number {
  const found = statSync(place)
  if (!found.isDirectory()) return found.mtimeMs
  return Math.max(found.mtimeMs, ...readdirSync(place).map(name => newest(path.join(place, name))))
}
