// Tests `pipespan top` on a real terminal with a running daemon: keys select, filter and open pipelines, and names cannot control the terminal.
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { DrawnTerminal, hasPseudoTerminals } from '../support/drawn-terminal.ts'
import { openHouse, until, type House } from '../console/house.ts'
import { widthOf } from '../../src/commands/terminal/fitted-text.ts'

const instance = 'https://git.example.com'
const [up, down, escape, enter] = ['\x1b[A', '\x1b[B', '\x1b', '\r']
let house: House

function pipeline(id: number, project: string, name: string, facts: object, builds: readonly object[]): string {
  const created = new Date(Date.now() - 120_000).toISOString()
  return JSON.stringify({
    object_kind: 'pipeline',
    object_attributes: { id, name, ref: 'main', created_at: created, ...facts },
    project: { id: 3, name: 'x', path_with_namespace: project, web_url: `${instance}/${project}` },
    builds: builds.map((build, index) => ({ id: id * 10 + index, stage: 'build', created_at: created, ...build })),
  })
}

beforeAll(async () => {
  house = await openHouse({})
  const at = (seconds: number): string => new Date(Date.now() - 120_000 + seconds * 1_000).toISOString()
  const running = { status: 'running', finished_at: null }
  const bodies = [
    pipeline(1, 'acme/shop', 'Nightly', running, [
      { name: 'compile', status: 'success', started_at: at(1), finished_at: at(30) },
      { name: 'unit tests 1/2', status: 'running', started_at: at(31) },
      { name: 'unit tests 2/2', status: 'running', started_at: at(31) },
      { name: 'deploy', status: 'pending' },
    ]),
    pipeline(2, 'acme/東京', 'Überprüfung 👩‍💻 \u202e\x1b]0;owned\x07', running, [
      { name: 'a\x1b[2Jb', status: 'pending' },
    ]),
    pipeline(3, 'acme/api', 'Release', { status: 'failed', finished_at: at(60) }, [
      { name: 'lint', status: 'failed', started_at: at(5), finished_at: at(50) },
    ]),
  ]
  for (const body of bodies) {
    const headers = {
      'content-type': 'application/json',
      'x-service-event': 'Pipeline Hook',
      'x-service-token': 'a-webhook-token',
    }
    expect((await fetch(`${house.daemon.url}/webhooks`, { method: 'POST', body, headers })).status).toBe(202)
  }
  await until(async () => {
    const overview = (await (await fetch(`${house.url}/api/overview`)).json()) as {
      active: number
      finished: unknown[]
    }
    return overview.active === 2 && overview.finished.length === 1
  })
})
afterAll(async () => house.close())

function opened(size = { rows: 24, columns: 100 }): DrawnTerminal {
  const main = path.join(import.meta.dirname, '..', '..', 'dist', 'main.js')
  const env = { PIPESPAN_WEBHOOK_TOKEN: 'x' }
  return closeAfterTest(
    new DrawnTerminal([process.execPath, main, 'top', '--url', house.url, '--every', '200ms'], env, size),
  )
}

const shows = async (terminal: DrawnTerminal, text: string | RegExp): Promise<void> =>
  expect
    .poll(() => terminal.lines.join('\n'))
    .toEqual(typeof text === 'string' ? expect.stringContaining(text) : expect.stringMatching(text))
const hides = async (terminal: DrawnTerminal, text: string): Promise<void> =>
  expect.poll(() => terminal.lines.join('\n')).not.toContain(text)

describe.skipIf(!hasPseudoTerminals)('`pipespan top` on a terminal (needs python3)', () => {
  it('lists names, running jobs and durations in aligned columns', async () => {
    const terminal = opened()
    await shows(terminal, '1/4 unit tests')
    const rows = terminal.lines.filter(line => /#[123]\b/.test(line))
    expect(rows).toHaveLength(3)
    const columnOf = (row: string): number => widthOf(row.slice(0, row.search(/\d+ m \d\d s/)))
    expect(rows.map(columnOf)[0]).toBe(columnOf(rows[1] ?? ''))
    expect(rows.join('\n')).toMatch(/▶ acme\/shop {2,}Nightly #1 {2,}2 m \d\d s/)
    expect(rows.join('\n')).toMatch(/✗ acme\/api {2,}Release #3 .* lint/)
    terminal.press('q')
    expect(await terminal.ended).toBe(0)
    expect(terminal.written.endsWith('\x1b[?25h\x1b[?1049l')).toBe(true)
  })

  it("does not let a name move the cursor or set the terminal's title", async () => {
    const terminal = opened({ rows: 24, columns: 60 })
    await shows(terminal, 'acme/東京')
    terminal.press(`/tok${'\x7f'.repeat(3)}東${enter}${enter}`)
    await shows(terminal, 'pipeline: Überprüfung')
    expect(terminal.written.replace(/\x1b\[(?:H|J|K|\?1049[hl]|\?25[hl]|\d+m)/g, '')).not.toMatch(/[\x1b\x07\u202e]/)
    for (const line of terminal.lines) expect(widthOf(line)).toBeLessThanOrEqual(60)
  })

  it('selects a pipeline with the arrow keys, opens its waterfall with Enter, and returns with Esc', async () => {
    const terminal = opened()
    await shows(terminal, 'Nightly')
    terminal.press(down + down + up)
    await shows(terminal, /^> /m)
    terminal.press('\x1b[F')
    await shows(terminal, /^> ✗ acme\/api/m)
    terminal.press(enter)
    await shows(terminal, '✗ pipeline: Release · failed · 1 m 00 s')
    await shows(terminal, /build {2}✗ lint/)
    terminal.press(escape)
    await shows(terminal, /^> ✗ acme\/api/m)
    terminal.press('\x1b[H')
    terminal.press(enter)
    await shows(terminal, /pipeline: .* · running · 2 m/)
    terminal.press('\x03')
    expect(await terminal.ended).toBe(0)
  })

  it('filters pipelines by name or job as the user types, and shows all of them again after Esc', async () => {
    const terminal = opened()
    await shows(terminal, 'Nightly')
    terminal.press('/unit')
    await shows(terminal, '/unit█')
    await hides(terminal, 'Release')
    await shows(terminal, 'Nightly')
    terminal.press('q')
    await shows(terminal, '/unitq█')
    await shows(terminal, 'nothing runs')
    terminal.press(escape)
    await shows(terminal, 'Release')
    await hides(terminal, '/unitq')
    terminal.press('q')
    expect(await terminal.ended).toBe(0)
  })

  it('restores the terminal when a signal ends the command', async () => {
    const terminal = opened()
    await shows(terminal, 'Nightly')
    terminal.press('\x04')
    expect(await terminal.ended).toBe(0)
    expect(terminal.written).toContain('\x1b[?1049l')
  })
})
