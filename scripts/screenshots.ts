// Takes the screenshots for the documentation from the demo and writes them to docs/images: `node scripts/screenshots.ts`. It needs Chromium and
// about two minutes, because the demo must first have data to show.
import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Writable } from 'node:stream'
import { chromiumPath, launch } from '../test/console/browser.ts'
import { DaemonProcess, freePorts } from '../src/simulator/daemon-process.ts'
import { demo } from '../src/commands/demo.ts'

interface Family {
  readonly children: readonly Family[]
}

interface Listed {
  readonly projectId: number
  readonly pipelineId: number
  readonly name?: string
  readonly finishedAt?: number
}

const root = path.join(import.meta.dirname, '..')
const folder = path.join(root, 'docs', 'images')
/** The number of pipelines that must have finished before the first screenshot is taken. */
const enough = 40
const timeoutMs = 180_000
const hour = 3_600_000
const adminToken = randomUUID()
/** The header that gives access to the demo's pages. */
const extraHTTPHeaders = { authorization: `Bearer ${adminToken}` }

if (chromiumPath === undefined) throw new Error('Chromium was not found. Install it, or set CHROMIUM_PATH.')
mkdirSync(folder, { recursive: true })
const stopping = new AbortController()
const announced = new Promise<string>(resolve => {
  let text = ''
  const stdout = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      text += chunk.toString()
      const [, url] = /^Open (http:\S+)\/ in a browser/m.exec(text) ?? []
      if (url !== undefined) resolve(url)
      done()
    },
  })
  const terminal = { stdout, stderr: process.stderr, env: { ...process.env, PIPESPAN_ADMIN_TOKEN: adminToken } }
  const options = { signal: stopping.signal, main: path.join(root, 'src', 'main.ts'), color: false }
  void demo(options, terminal).then(code => (process.exitCode = code))
})
try {
  await shoot(await announced)
} finally {
  stopping.abort()
}
await shootFirst()

async function shoot(pages: string): Promise<void> {
  const family = await worthShowing(pages)
  const browser = await launch()
  const overview = await browser.newPage({
    colorScheme: 'light',
    viewport: { width: 1_280, height: 1_150 },
    extraHTTPHeaders,
  })
  await overview.goto(`${pages}/`)
  await overview.screenshot({ path: path.join(folder, 'overview.png') })
  const pipeline = await browser.newPage({
    colorScheme: 'dark',
    viewport: { width: 1_280, height: 900 },
    extraHTTPHeaders,
  })
  await pipeline.goto(pages + family)
  const waterfall = await pipeline.locator('#waterfall').boundingBox()
  const height = Math.ceil((waterfall?.y ?? 0) + (waterfall?.height ?? 900))
  await pipeline.screenshot({
    path: path.join(folder, 'pipeline.png'),
    clip: { x: 0, y: 0, width: 1_280, height },
    fullPage: true,
  })
  await browser.close()
}

/** Takes the screenshot in docs/getting-started.md that shows the result of step 4. */
async function shootFirst(): Promise<void> {
  const [port = 0, adminPort = 0] = await freePorts(2)
  const admin = `http://127.0.0.1:${adminPort}`
  const store = mkdtempSync(path.join(tmpdir(), 'pipespan-screenshots-'))
  const env = {
    ...process.env,
    PIPESPAN_LISTEN: `127.0.0.1:${port}`,
    PIPESPAN_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
    PIPESPAN_STORE_URL: `sqlite:${path.join(store, 'pipespan.db')}`,
    PIPESPAN_WEBHOOK_TOKEN: 'a-token',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
  }
  const daemon = new DaemonProcess({ main: path.join(root, 'src', 'main.ts'), args: ['serve'], env })
  const browser = await launch()
  try {
    await daemon.ready(`${admin}/readyz`, timeoutMs)
    const { stdout } = spawnSync(process.execPath, [path.join(root, 'docs/examples/just-now.js')], { encoding: 'utf8' })
    const headers = {
      'content-type': 'application/json',
      'x-gitlab-event': 'Pipeline Hook',
      'x-gitlab-token': 'a-token',
    }
    await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', headers, body: stdout })
    const page = await browser.newPage({ colorScheme: 'light', viewport: { width: 1_280, height: 720 } })
    await page.goto(`${admin}/pipelines`)
    await page.getByRole('link', { name: 'Charge the card once' }).first().click()
    await page.locator('#waterfall').waitFor()
    const waterfall = await page.locator('#waterfall').boundingBox()
    const height = Math.ceil((waterfall?.y ?? 0) + (waterfall?.height ?? 720)) + 16
    const clip = { x: 0, y: 0, width: 1_280, height }
    await page.screenshot({ path: path.join(folder, 'first-pipeline.png'), clip, fullPage: true })
  } finally {
    await browser.close()
    await daemon.stop()
    rmSync(store, { recursive: true })
  }
}

/** Returns the URL of a complete family of pipelines, once enough other pipelines have finished. */
async function worthShowing(pages: string): Promise<string> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const { pipelines } = (await json(`${pages}/api/pipelines?limit=100`)) as { pipelines: Listed[] }
    // The demo begins with two months of history. The overview shows only the last hour, so the pipelines of that hour are counted.
    const finished = pipelines.filter(({ finishedAt = 0 }) => finishedAt > Date.now() - hour)
    const families = finished.length < enough ? [] : finished.filter(({ name }) => name === 'Monorepo')
    for (const { projectId, pipelineId } of families) {
      const address = `/pipelines/${projectId}/${pipelineId}`
      const { family } = (await json(`${pages}/api${address}`)) as { family: Family }
      if (sizeOf(family) > 3) return address
    }
    if (Date.now() > deadline) throw new Error('The demo did not complete a family of pipelines in time. Try again.')
    await sleep(1_000)
  }
}

function sizeOf({ children }: Family): number {
  return children.reduce((sum, child) => sum + sizeOf(child), 1)
}

async function json(url: string): Promise<unknown> {
  return (await fetch(url, { headers: extraHTTPHeaders })).json()
}
