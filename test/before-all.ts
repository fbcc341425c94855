// Around all test files of a run: what ships is built anew where it is older than its sources, as tests start the bundle, from which a
// daemon starts with half the processor time. And one PostgreSQL server for all, started when the first database is asked for.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { compiled, shipped } from './shipped.ts'
import { startPostgres, type PostgresServer } from './store/postgres-server.ts'

const root = path.dirname(import.meta.dirname)
/** What a bundle is made of. */
const sources = ['src', 'scripts', 'package-lock.json', 'package.json'].map(name => path.join(root, name))

export default async function aroundAll(project: TestProject): Promise<() => Promise<void>> {
  build()
  project.onTestsRerun(build)
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
