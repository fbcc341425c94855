// Tests `pipespan demo` as a whole: the real daemon runs in its own process and is terminated in every possible way.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { demo, type DemoOptions } from '../../src/commands/demo.ts'
import { freePorts } from '../../src/simulator/daemon-process.ts'
import { shipped } from '../shipped.ts'
import type { RunCard } from '../../src/console/pipelines/run-card.ts'

const usual = tmpdir()
let folder: string

/** The demo creates its temporary folders in a folder of this test. */
beforeEach(() => {
  folder = mkdtempSync(path.join(usual, 'demo-test-'))
  process.env.TMPDIR = folder
})
afterEach(() => {
  process.env.TMPDIR = usual
  rmSync(folder, { recursive: true, force: true })
})

function start(options: DemoOptions, env: NodeJS.ProcessEnv = {}) {
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const code = demo({ main: shipped, ...options }, { stdout, stderr, env: { ...process.env, ...env } })
  const ended = code.finally(() => {
    stdout.end()
    stderr.end()
  })
  return { stdout, code: ended, output: text(stdout), errors: text(stderr) }
}

/** Creates a program that stands in for the daemon, for behaviour that the real daemon does not show on demand. */
function program(source: string): string {
  const file = path.join(folder, 'main.mjs')
  writeFileSync(file, source)
  return file
}

async function firstMatch(stream: PassThrough, pattern: RegExp): Promise<RegExpExecArray> {
  let seen = ''
  return new Promise((resolve, reject) => {
    stream.on('data', chunk => {
      seen += String(chunk)
      const found = pattern.exec(seen)
      if (found !== null) resolve(found)
    })
    stream.once('end', () => reject(new Error(`the output ended without a match for ${String(pattern)}`)))
  })
}

describe('pipespan demo', () => {
  it('draws ten pipelines with --once, prints a summary line, and leaves nothing behind', async () => {
    const configured = { PIPESPAN_LISTEN: 'nonsense', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }
    const run = start({ once: true, speed: 90 }, configured)
    const webhooks = await firstMatch(run.stdout, /http:\/\/[\d.]+:\d+\/webhooks/)
    expect(await run.code).toBe(0)
    const output = await run.output
    expect(output).toMatch(/^10 pipelines with \d+ jobs drawn from \d+ webhooks\.$/m)
    expect(output).toMatch(/✓ pipeline: Monorepo · success .* trace [0-9a-f]{32}/)
    expect(output).toMatch(/✓ pipeline: Frontend · success/)
    expect(output).toMatch(
      /^The platform dropped another \d+ webhooks? on purpose(, including those for the end of .*)?; the poller found what was missing\.$/m,
    )
    expect(output).toMatch(/build ios.*failed.*retried/)
    // The summary is printed last.
    expect(output.trimEnd().split('\n').slice(-3)[0]).toMatch(/^10 pipelines with /)
    expect(output.trimEnd().split('\n').at(-1)).toMatch(/^Try next/)
    expect(output.match(/Try next/g)).toHaveLength(1)
    expect(await run.errors).toBe('')
    expect(output).not.toContain('\u001b[')
    await expect(fetch(webhooks[0])).rejects.toThrow()
    expect(readdirSync(folder)).toEqual([])
  })

  it('serves its pages at the given address to clients with the admin token, shows job logs on them, and rotates its ingest token', async () => {
    const [port = 0] = await freePorts(1)
    const stop = new AbortController()
    const env = { PIPESPAN_ADMIN_TOKEN: 'of-the-one-who-watches' }
    const run = start({ signal: stop.signal, speed: 90, listen: { host: '0.0.0.0', port } }, env)
    const rotated = firstMatch(run.stdout, /^rotation  Token 2 \(\w+\) is in use; revoked: 1\.$/m)
    const [, platform = ''] = await firstMatch(run.stdout, /API at (http:\/\/[\d.]+:\d+)/)
    const pages = `http://127.0.0.1:${port}`
    expect((await fetch(`${pages}/api/overview`)).status).toBe(401)
    const headers = { authorization: `Bearer ${env.PIPESPAN_ADMIN_TOKEN}` }
    const page = async (path: string) => (await fetch(pages + path, { headers })).text()
    // Links to the platform lead to a page that requires no login.
    const listed = async () => (JSON.parse(await page('/api/pipelines')) as { pipelines: RunCard[] }).pipelines
    await expect.poll(async () => (await listed())[0]?.url).toContain(platform)
    const opened = await fetch((await listed())[0]?.url ?? '')
    expect([opened.status, await opened.text()]).toEqual([200, expect.stringContaining('Simulated platform')])
    // The demo shows a failed deployment, superseded work, a dead letter, an audit event, and a job's log.
    await expect.poll(async () => page('/environments')).toMatch(/failed/)
    const costs = async () =>
      JSON.parse(await page('/api/cost?span=90d')) as { total?: { wasted: { superseded: { cost: number } } } }
    await expect.poll(async () => (await costs()).total?.wasted.superseded.cost).toBeGreaterThan(0)
    await expect.poll(async () => page('/exports')).toMatch(/refuses one trace of the demo/)
    await expect.poll(async () => page('/audit')).toMatch(/visibility|user_access|protected/i)
    const failed = async () =>
      (JSON.parse(await page('/api/pipelines?status=failed')) as { pipelines: RunCard[] }).pipelines
        .flatMap(({ projectId, pipelineId, failures }) =>
          failures.map(({ id }) => `/pipelines/${projectId}/${pipelineId}/jobs/${id}`),
        )
        .at(0)
    await expect.poll(failed).toBeDefined()
    await expect.poll(async () => page(`${(await failed()) ?? ''}/log`)).toMatch(/ERROR: Job failed/)
    await rotated
    // After the rotation, traces arrive with the new token.
    await firstMatch(run.stdout, /pipeline: .*trace/)
    expect(await page('/metrics')).toMatch(/^platform_ingest_enforced\{.*\} 1$/m)
    stop.abort()
    expect(await run.code).toBe(0)
    expect(await run.errors).toBe('')
    // The demo does not print a token that was passed to it.
    expect(await run.output).not.toContain(env.PIPESPAN_ADMIN_TOKEN)
  })

  it('runs until it is stopped', async () => {
    const stop = new AbortController()
    const run = start({ signal: stop.signal, speed: 90, color: true })
    const found = await firstMatch(run.stdout, /Open (http:\/\/[\d.]+:\d+\/)[^]*admin token (\w+)\n/)
    const [, pages = '', token = ''] = found
    const headers = { authorization: `Bearer ${token}` }
    const page = async (path: string) => (await fetch(pages + path, { headers })).text()
    await firstMatch(run.stdout, /pipeline: .*trace/)
    // The demo defines two queries, one that returns a count and one that returns several figures. Both are exported as gauges.
    const metrics = async () => (await fetch(`${pages}metrics`, { headers })).text()
    await expect.poll(metrics).toMatch(/^brightwater_pipeline_duration_p50\{.*main/m)
    await expect.poll(metrics).toMatch(/^brightwater_merge_requests_open\{.*\} 23$/m)
    // The demo's history is available immediately. It includes a previous period to compare with, usual durations, and all costs.
    await expect.poll(async () => page('trends')).toMatch(/Arrows compare with the previous 30 days/)
    await expect.poll(async () => page('trends')).toMatch(/class="delta (better|worse)"/)
    // If a page is requested before the history has been counted, it keeps showing the old data for five minutes, so the test waits for the count
    // first.
    const counted = async () =>
      (JSON.parse(await page('api/trends?span=30d')) as { total: { runs: number } }).total.runs
    await expect.poll(counted).toBeGreaterThan(100)
    await expect.poll(async () => page('pipelines'), { timeout: 600_000 }).toMatch(/usually ≈\s?[\d.]+/)
    await expect.poll(async () => page('cost')).toMatch(/\d EUR/)
    stop.abort()
    expect(await run.code).toBe(0)
    expect(await run.output).toContain('\u001b[32m')
    expect(await run.errors).toBe('')
  })

  it("prints the daemon's last output lines if it does not start", async () => {
    const main = program(`console.error('no room at the inn'); process.exit(3)`)
    const run = start({ main })
    expect(await run.code).toBe(1)
    expect(await run.errors).toBe('The daemon exited before it was ready. Its last lines:\n  no room at the inn\n')
  })

  it("prints the daemon's last output lines if it dies", async () => {
    const main = program(`
      import { createServer } from 'node:http'
      const listen = (address, answer) => {
        const [host, port] = address.split(':')
        createServer(answer).listen(Number(port), host)
      }
      listen(process.env.PIPESPAN_ADMIN_LISTEN, (_, response) => response.end('ok'))
      // The demo sends the first webhook once this program responds that it is ready.
      listen(process.env.PIPESPAN_LISTEN, () => { console.error('out of luck'); process.exit(9) })
    `)
    const run = start({ main })
    expect(await run.code).toBe(1)
    expect(await run.errors).toBe('The daemon exited. Its last lines:\n  out of luck\n')
  })
})
