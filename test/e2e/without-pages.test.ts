// Tests a daemon without pages (PIPESPAN_PAGES=false): it exports as usual, and neither loads nor computes anything that only pages show.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { Daemon } from './daemon.ts'
import { noteModules } from './loaded-modules.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { shippedModules } from '../shipped.ts'
import { until } from '../console/house.ts'

interface Noted {
  readonly daemon: Daemon
  /** Returns the loaded modules of the console, except those that protect the admin listener. */
  readonly console: () => readonly string[]
}

async function start(env: NodeJS.ProcessEnv): Promise<Noted> {
  const loaded = noteModules(temporaryFolder())
  const daemon = await Daemon.start({ SERVICE_OBSERVABILITY_EXPORT: 'traces,metrics', ...env }, loaded.nodeArgs)
  const console = (): readonly string[] =>
    [...new Set(loaded.names())]
      .filter(name => name.endsWith('.js') && name !== 'main.js')
      .flatMap(
        name =>
          readFileSync(path.join(shippedModules, name), 'utf8').match(/^\/\/ src\/console\/(?!access\/).*/gm) ?? [],
      )
  return { daemon, console }
}

const read = async (url: string, headers = {}): Promise<[number, string]> => {
  const answer = await fetch(url, { headers, redirect: 'manual' })
  return [answer.status, await answer.text()]
}

it('exports pipelines and answers /metrics and health checks without pages, names the setting that enables pages at every page URL, and shows past figures once pages are enabled', async () => {
  const receiver = closeAfterTest(await OtlpReceiver.start())
  const { daemon, console } = await start({ PIPESPAN_PAGES: 'false', OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
  expect((await daemon.post(pipelineEvent({ id: 1 }))).status).toBe(202)
  await until(async () => receiver.spans.length > 0)

  for (const gone of ['', '/pipelines', '/api/overview', '/openapi.json', '/assets/pages.css', '/login'])
    expect(await read(daemon.adminUrl + gone)).toEqual([404, expect.stringContaining('PIPESPAN_PAGES=false')])
  expect((await read(`${daemon.adminUrl}/healthz`))[0]).toBe(200)
  expect(await read(`${daemon.adminUrl}/metrics`)).toEqual([200, expect.stringContaining('pipespan_')])
  expect((await read(`${daemon.adminUrl}/metrics`, { 'x-forwarded-for': '192.0.2.1' }))[0]).toBe(403)
  expect(console()).toEqual([])

  const top = await daemon.command('top', '--url', daemon.adminUrl)
  expect(top.code).not.toBe(0)
  expect(top.stderr).toContain('PIPESPAN_PAGES=true')

  const figures = (): unknown => {
    const db = new DatabaseSync(daemon.storeFile, { readOnly: true, timeout: 10_000 })
    try {
      return db.prepare('SELECT count(*) AS rows FROM trends').get()?.rows
    } finally {
      db.close()
    }
  }
  await daemon.stop()
  await daemon.restart({ PIPESPAN_PAGES: 'true' })
  expect((await read(`${daemon.adminUrl}/api/overview`))[0]).toBe(200)
  expect(console()).toContain('// src/console/routes.ts')
  await until(async () => Number(figures()) > 0)
})

it('shows /metrics to a client with the admin token even without pages', async () => {
  const token = 'an-admin-token-of-tests'
  const { daemon } = await start({ PIPESPAN_PAGES: 'false', PIPESPAN_ADMIN_TOKEN: token, PIPESPAN_BASE_PATH: '/spans' })
  const metrics = `${daemon.adminUrl}/metrics`
  expect((await read(metrics))[0]).toBe(401)
  expect((await read(metrics, { authorization: 'Bearer another-token-of-tests' }))[0]).toBe(401)
  expect((await read(metrics, { authorization: `Bearer ${token}` }))[0]).toBe(200)
  expect(await read(daemon.adminUrl)).toEqual([404, expect.stringContaining('PIPESPAN_PAGES=false')])
})
