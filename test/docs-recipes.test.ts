// Tests the backend recipes. The commands in docs/recipes.md are run against a stand-in server that accepts exactly what the vendors' documentation
// describes.
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from './support/after-test.ts'
import { docBlocks, repository } from './doc-blocks.ts'
import { freePorts } from '../src/simulator/daemon-process.ts'
import { loadConfig } from '../src/daemon/configuration/load.ts'
import { profiles } from '../src/daemon/profile.ts'
import { features } from '../src/features.ts'
import { runCommand } from './e2e/run-command.ts'

interface Asked {
  readonly host: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
}

const signal = /^\/v1\/(traces|metrics|logs)$/
const basic = `Basic ${Buffer.from('123456:glc_the-token').toString('base64')}`

/** For each vendor, a function that returns the status with which the vendor's endpoint responds to a request. */
const vendors: Record<string, (asked: Asked) => number> = {
  collector: ({ path }) => (signal.test(path) ? 200 : 404),
  jaeger: ({ path }) => (path === '/v1/traces' ? 200 : 404),
  tempo: ({ host, path, headers }) => {
    if (headers['x-scope-orgid'] === undefined) return 401
    const own = { 'tempo.example.com:4318': '/v1/traces', 'mimir.example.com': '/otlp/v1/metrics' }
    const expected = { ...own, 'loki.example.com:3100': '/otlp/v1/logs' }[host]
    return path === expected ? 200 : 404
  },
  'grafana-cloud': ({ path, headers }) => {
    if (!path.startsWith('/otlp') || !signal.test(path.slice('/otlp'.length))) return 404
    return headers.authorization === basic ? 200 : 401
  },
  datadog: ({ path }) => (signal.test(path) ? 200 : 404),
  honeycomb: ({ path, headers }) => {
    if (headers['x-honeycomb-team'] !== 'hcaik_the-key') return 401
    const needsDataset = path === '/v1/metrics' && headers['x-honeycomb-dataset'] === undefined
    return signal.test(path) && !needsDataset ? 200 : 400
  },
  elastic: ({ path, headers }) => {
    if (headers.authorization !== 'ApiKey the-key') return 401
    return signal.test(path) ? 200 : 404
  },
}

let server: Server
let vendor = ''

beforeAll(async () => {
  server = createServer((request, response) => {
    const [, host = '', path = ''] = /^\/([^/]+)(\/.*)$/.exec(request.url ?? '') ?? []
    request.resume()
    request.on('end', () =>
      response.writeHead(vendors[vendor]?.({ host, path, headers: request.headers }) ?? 500).end(),
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
})
afterAll(() => server.close())

/** Runs a block of a recipe in a shell and returns the variables that it sets. */
function variablesOf(script: string): Record<string, string> {
  const { status, stdout } = spawnSync('sh', ['-eu', '-c', `${script}\nenv -0`], {
    env: { PATH: process.env.PATH },
    encoding: 'utf8',
  })
  expect(status).toBe(0)
  const pairs = stdout.split('\0').flatMap(line => {
    const [, name = '', value = ''] = /^((?:OTEL|PIPESPAN|SERVICE)_\w+)=(.*)$/s.exec(line) ?? []
    return name === '' ? [] : [[name, value] as const]
  })
  return Object.fromEntries(pairs)
}

/** Returns the variables with every host replaced by the stand-in server. The original host becomes the first segment of the path. */
function atStandIn(env: Record<string, string>): Record<string, string> {
  const { port } = server.address() as AddressInfo
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [
      name,
      name.endsWith('_ENDPOINT') ? value.replace(/^https?:\/\/([^/]+)/, `http://127.0.0.1:${port}/$1`) : value,
    ]),
  )
}

describe('the backend recipes', () => {
  const recipes = docBlocks().filter(({ marker }) => marker?.kind === 'recipe')

  it('documents a recipe for every simulated backend', () => {
    expect(recipes.map(({ marker }) => marker?.description).toSorted()).toEqual(Object.keys(vendors).toSorted())
  })

  it.each(recipes.map(({ marker, script }) => ({ name: marker?.description ?? '', script })))(
    'documents a recipe for $name whose exports the backend accepts',
    async ({ name, script }) => {
      const folder = temporaryFolder()
      const [port = 0] = await freePorts(1)
      vendor = name
      const own = { PIPESPAN_WEBHOOK_TOKEN: 'x', PIPESPAN_STORE_URL: `sqlite:${folder}/p.db` }
      const env = { ...atStandIn(variablesOf(script)), ...own, PIPESPAN_LISTEN: `127.0.0.1:${port}` }
      const loaded = loadConfig({ env, profiles, features })
      expect(loaded).toMatchObject({ ok: true, warnings: [] })
      if (name === 'datadog' && loaded.ok) {
        expect(loaded.config.otlp.metrics.temporalityPreference).toBe('delta')
      }
      const { stdout } = await runCommand(['doctor', '--json'], env)
      const { findings } = JSON.parse(stdout) as {
        findings: { check: string; level: string; what: string }[]
      }
      const exports = findings.filter(({ check }) => check === 'export')
      expect(exports.length).toBe(name === 'jaeger' ? 1 : 3)
      expect(exports.filter(({ level }) => level !== 'fine')).toEqual([])
    },
  )
})

describe('the systemd unit', () => {
  const unit = readFileSync(path.join(repository, 'deploy/systemd/pipespan.service'), 'utf8')

  it('sets only variables that exist in the systemd unit, and allows enough time to stop', () => {
    const env = Object.fromEntries(
      [...unit.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name = '', value]) => [name, value]),
    )
    const folder = temporaryFolder()
    writeFileSync(path.join(folder, 'webhook-token'), 'a-token-of-some-length')
    const PIPESPAN_WEBHOOK_TOKEN_FILE = (env.PIPESPAN_WEBHOOK_TOKEN_FILE ?? '').replace('%d', folder)
    expect(loadConfig({ env: { ...env, PIPESPAN_WEBHOOK_TOKEN_FILE }, profiles, features })).toMatchObject({
      ok: true,
      warnings: [],
    })
    expect(unit).toContain('TimeoutStopSec=45s')
  })

  const installed = spawnSync('systemd-analyze', ['--version']).status === 0
  it.skipIf(!installed)(
    'ships a systemd unit that systemd accepts and that isolates the daemon from the rest of the machine',
    () => {
      const folder = temporaryFolder()
      const file = path.join(folder, 'pipespan.service')
      writeFileSync(file, unit.replace('/usr/bin/node', process.execPath))
      const verified = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' })
      expect([verified.status, verified.stderr]).toEqual([0, ''])
    },
  )
})
