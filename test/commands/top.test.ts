// Tests `pipespan top` with a complete daemon that serves pages, and with other services at its address.
import { createServer, type RequestListener } from 'node:http'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { listen } from '../support/after-test.ts'
import { freePorts } from '../../src/simulator/daemon-process.ts'
import { liveView } from '../../src/commands/terminal/live-view.ts'
import type { LiveState } from '../../src/commands/terminal/pipeline-rows.ts'
import { openHouse, type House } from '../console/house.ts'
import { runProgram } from '../../src/commands/program.ts'
import { runCommand } from '../e2e/run-command.ts'

const adminToken = 'an-admin-token-that-nobody-guesses'
let house: House

beforeAll(async () => {
  house = await openHouse({ PIPESPAN_ADMIN_TOKEN: adminToken })
  await house.live(['branch'], { families: 2 })
})
afterAll(async () => house.close())

async function top(args: readonly string[], token: string | undefined = adminToken) {
  const env = { PIPESPAN_WEBHOOK_TOKEN: 'x', PIPESPAN_ADMIN_TOKEN: token }
  const { code, stdout: out, stderr: complaint } = await runCommand(['top', ...args], env)
  return { code, out, complaint }
}

it('prints active, waiting and failing pipelines once if there is no terminal', async () => {
  const { code, out } = await top(['--url', house.url])
  expect(code).toBe(0)
  expect(out).toContain(`Pipespan at ${house.url}`)
  expect(out).toMatch(/default traces: closed, 0 pending, \d+ delivered/)
  expect(out).toMatch(/LAST FINISHED\n {2}. \S+ .*#\d+/)
  expect(out).not.toContain('\x1b')
})

it('prints the JSON API response for scripts', async () => {
  const { out } = await top(['--url', `${house.url}/`, '--json'])
  expect(JSON.parse(out)).toMatchObject({ quarantined: 0, queues: [{ state: 'closed' }] })
})

it('names the token that is missing', async () => {
  const { code, complaint } = await top(['--url', house.url], 'another-token-that-is-long-enough')
  expect(code).toBe(1)
  expect(complaint).toBe(
    `The daemon at ${house.url} does not accept the admin token configured here. Set PIPESPAN_ADMIN_TOKEN to the daemon's value.\n`,
  )
})

it('distinguishes an unreachable daemon from another service, and a web page from other text', async () => {
  const [port = 0] = await freePorts(1)
  expect((await top(['--url', `http://127.0.0.1:${port}`])).complaint).toMatch(
    /^No daemon answers at .* Start the daemon with/,
  )
  const foreign = async (answer: RequestListener): Promise<string> =>
    (await top(['--url', `http://127.0.0.1:${await listen(createServer(answer))}`])).complaint
  expect(await foreign((_, answer) => answer.end('<!doctype html><p>Welcome'))).toContain('200 with a web page.')
  expect(await foreign((_, answer) => answer.end('{"running":'))).toContain('200 with JSON of another shape.')
})

it('does not send the admin token to a service other than the daemon', async () => {
  const seen: string[] = []
  const server = createServer(({ headers }, answer) => {
    seen.push(JSON.stringify(headers))
    answer.end('hello')
  })
  await top(['--url', `http://127.0.0.1:${await listen(server)}`])
  expect(seen).not.toEqual([])
  expect(seen.join()).not.toContain(adminToken)
})

it("fits lines and lists to the terminal's size", () => {
  const pipeline = {
    ...{ instance: 'https://git.example.com', projectId: 1, pipelineId: 1, platformNow: 0 },
    project: 'group/\x1b[31mproject'.repeat(9),
    status: 'running',
    jobs: [],
    failures: [],
  }
  const state = {
    notices: [{ level: 'problem', what: 'A destination is not responding.', remedy: 'Look at it.' }],
    flow: { received: 1, attempts: 0 },
    quarantined: 0,
    queues: [
      { destination: 'default', signal: 'traces', state: 'open', pending: 3, dead: 1, counters: { delivered: 0 } },
    ],
    active: 60,
    running: Array.from({ length: 50 }, () => pipeline),
    finished: Array.from({ length: 50 }, () => ({ ...pipeline, status: 'failed' })),
  } as unknown as LiveState
  const lines = liveView(state, { from: 'here', now: 0, width: 60, height: 24, color: false }).split('\n')
  expect(lines.length).toBeLessThanOrEqual(24)
  expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(60)
  expect(lines.join('')).not.toMatch(/\p{C}/u)
  expect(lines).toContain('! A destination is not responding. Look at it.')
  expect(lines).toContain('  default traces: open, 3 pending, 0 delivered, 1 dead lette')
  expect(liveView(state, { from: 'here', now: 0, width: 60, height: 4, color: false }).split('\n')).toHaveLength(4)
})

it('exits on q, redraws when the size changes, and restores the terminal', async () => {
  const screen = { isTTY: true, columns: 80, rows: 24 }
  const modes: boolean[] = []
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (raw: boolean) => modes.push(raw) })
  const stdout = Object.assign(new PassThrough({ encoding: 'utf8' }), screen)
  let out = ''
  stdout.on('data', (chunk: string) => (out += chunk))
  const env = { PIPESPAN_WEBHOOK_TOKEN: 'x', PIPESPAN_ADMIN_TOKEN: adminToken }
  const args = ['top', '--url', house.url, '--every', '1h']
  const ending = runProgram(args, { stdin, stdout, stderr: new PassThrough(), env })
  await expect.poll(() => out).toContain('LAST FINISHED')
  expect(out).toContain('\x1b[1mPipespan')
  out = ''
  Object.assign(stdout, { columns: 40, rows: 15 })
  stdout.emit('resize')
  await expect.poll(() => out).toContain('\x1b[J')
  const lines = out.replace(/\x1b\[[?\d]*[a-zA-Z]/g, '').split('\n')
  expect(lines.length).toBeLessThan(15)
  expect(Math.max(...lines.map(line => line.length))).toBe(40)
  expect(modes).toEqual([true])
  stdin.write('x')
  stdin.write('q')
  expect(await ending).toBe(0)
  expect(modes).toEqual([true, false])
  await expect.poll(() => out.endsWith('\x1b[?25h\x1b[?1049l')).toBe(true)
  expect(stdout.listenerCount('resize')).toBe(0)
})
