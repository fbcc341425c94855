// Tests job logs on the pages of a complete daemon with a platform: they are redacted, fetched on demand, and shown only with the admin token.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answer, startPlatform, type PlatformServer } from '../../platform/rest/platform-server.ts'
import { apiRoutes } from '../../../src/console/api/api.ts'
import {
  chromiumPath,
  complaintsOf,
  expectReadable,
  launch,
  openContext,
  showAs,
  defaultLooks,
} from '../../console/browser.ts'
import { openHouse, until, type House } from '../../console/house.ts'
import { consoleParts, noParts } from '../../support/console-parts.ts'

const token = 'an-admin-token-of-this-test'
const escape = '\u001b'
const start = Math.floor(Date.now() / 1000) - 3_600
const erase = `\r${escape}[0K`
const log = [
  `section_start:${start + 1}:get_sources${erase}Getting source`,
  `section_end:${start + 5}:get_sources${erase}section_start:${start + 5}:step_script${erase}${escape}[32;1m$ npm test${escape}[0;m`,
  '<script>alert(1)</script> & more',
  `to acme/${escape}[31mvault/keys${escape}[0m in two colours`,
  `deploy --token=Tr0ub4dor&3-${escape}[31mcorrect-horse${escape}[0m to acme/vault/keys`,
  `${escape}[31;1mERROR: Job failed: exit code 1${escape}[0;m`,
  '',
].join('\n')

interface JsonLog {
  readonly as: string
  readonly lines?: readonly { readonly number: number; readonly text: string; readonly section?: number }[]
  readonly missing?: { readonly lines: number }
}

let platform: PlatformServer
let house: House
const traces = (): number => platform.asked.filter(({ path }) => path.endsWith('/trace')).length
const trace = (body: string, status = 200): void => {
  platform.reply = (asked, response) =>
    (asked.path.endsWith('/trace') ? answer(status, body) : answer(404, '{}'))(asked, response)
}

beforeAll(async () => {
  platform = await startPlatform(answer(404, '{}'))
  house = await openHouse({
    PIPESPAN_ADMIN_TOKEN: token,
    PIPESPAN_PAGES_LOGS: 'true',
    PIPESPAN_PAGES_HIDE: 'acme/vault/**',
    PIPESPAN_PLATFORM_URL: platform.url,
    PIPESPAN_PLATFORM_TOKEN: 'a-platform-token',
  })
  for (const [id, project] of [
    [7, { id: 3, path: 'acme/shop' }],
    [8, { id: 301, path: 'acme/vault/keys' }],
    [9, { id: 3, path: 'acme/shop' }],
  ] as const) {
    const at = (seconds: number): string => new Date((start + seconds) * 1_000).toISOString()
    const web = `${platform.url}/${project.path}`
    const times = { created_at: at(0), finished_at: at(60) }
    const job = { id: id * 10, stage: 'test', name: 'unit', status: 'failed', failure_reason: 'script_failure' }
    const body = JSON.stringify({
      object_kind: 'pipeline',
      object_attributes: {
        ...{ id, ref: 'main', status: 'failed', ...times, url: `${web}/-/pipelines/${id}` },
        variables: id === 9 ? [{ key: 'CI_DEBUG_TRACE', value: 'true' }] : [],
      },
      project: { id: project.id, name: 'x', path_with_namespace: project.path, web_url: web },
      builds: [{ ...job, started_at: at(1), finished_at: at(50) }],
    })
    await house.post(body)
  }
  await until(async () => (await house.daemon.store.runs.count()).runs === 3)
})
afterAll(async () => {
  await house.close()
  await platform[Symbol.asyncDispose]()
})

const ask = async (path: string): Promise<Response> =>
  fetch(house.url + path, { headers: { authorization: `Bearer ${token}` }, redirect: 'manual' })
const read = async (path: string): Promise<string> => (await ask(path)).text()
const page = '/pipelines/3/7/jobs/70/log'

describe('job logs on the pages', () => {
  it("fetches a job's log on demand, and shows it escaped, coloured and redacted, with the failed section open", async () => {
    trace(log)
    expect(await read('/pipelines/3/7/jobs/70')).toContain(`href="${page}"`)
    const before = traces()
    const text = await read(page)
    expect(traces()).toBe(before + 1)
    expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &amp; more')
    expect(text).toContain('<span class="log-bold log-2">$ npm test</span>')
    expect(text).toMatch(
      /<span class="log-number"> {5}4<\/span> to acme\/<span class="log-1">vault\/keys<\/span> in two colours\n/,
    )
    expect(text).toContain('<span class="log-number">     5</span> deploy --token=[REDACTED] to acme/vault/keys\n<span')
    expect(text).not.toMatch(/Tr0ub4dor|correct-horse|\u001b/)
    expect(text).toMatch(/<details class="log-section" +open>\s*<summary>\s*\$ npm test <span class="tag">failed here/)
    expect(text).toMatch(/<details class="log-section" *>\s*<summary>\s*(get_sources|Getting source)/)
  })

  it("shows the last log lines of the failed section on a failed job's page", async () => {
    trace(log)
    const text = await read('/pipelines/3/7/jobs/70')
    const end = text.slice(text.indexOf('End of the log'), text.indexOf('id="facts"'))
    expect(end).toContain('5 lines of $ npm test')
    expect(end).toContain('ERROR: Job failed: exit code 1')
    expect(end).not.toMatch(/Getting source|Tr0ub4dor/)
    expect(text.indexOf('It failed')).toBeLessThan(text.indexOf('End of the log'))
  })

  it("omits the log from a job's page if the platform refuses it or the log shows variables", async () => {
    for (const [body, status] of [
      ['{}', 403],
      [`CI_DEBUG_TRACE="true"\n${log}`, 200],
    ] as const) {
      trace(body, status)
      const answered = await ask('/pipelines/3/7/jobs/70')
      expect(answered.status).toBe(200)
      expect(await answered.text()).not.toContain('End of the log')
    }
  })

  it("searches a job's log for a string", async () => {
    trace(log)
    const text = await read(`${page}?find=NPM`)
    expect(text).toContain('1 line of 6 with “NPM”')
    expect(text).not.toContain('Job failed')
  })

  it.each([
    ['that is refused', () => trace('{}', 403), 'Open on the platform'],
    ['that is gone', () => trace('{}', 404), 'Open on the platform'],
    ['that is empty', () => trace(''), 'The log is empty.'],
    ['that shows variables', () => trace(`CI_DEBUG_TRACE="true"\n${log}`), 'The log is not shown'],
  ])('explains on the page of a job log %s why nothing is shown', async (_, say, description) => {
    say()
    const answered = await ask(page)
    expect(answered.status).toBe(200)
    const text = await answered.text()
    expect(text).toContain(description === 'Open on the platform' ? '<p class="empty">' : description)
    expect(text).not.toContain('npm test')
  })

  it('shows no job log without the admin token, and never the log of a hidden project', async () => {
    trace(log)
    const before = traces()
    expect((await fetch(house.url + page, { redirect: 'manual' })).status).toBe(303)
    expect((await ask('/pipelines/301/8/jobs/80/log')).status).toBe(404)
    expect((await ask('/pipelines/3/7/jobs/71/log')).status).toBe(404)
    expect(traces()).toBe(before)
  })

  describe('job logs as JSON', () => {
    const json = `/api${page}`
    const shape = apiRoutes(noParts, { adminToken: () => undefined }, consoleParts).find(({ path }) =>
      path.endsWith('/log'),
    )?.answer
    const asJson = async (path: string): Promise<JsonLog> => {
      const answered = await ask(path)
      expect(answered.status).toBe(200)
      const value = (await answered.json()) as JsonLog
      expect(shape?.safeParse(value).error?.issues ?? []).toEqual([])
      return value
    }

    it('returns the log lines as JSON, without colours', async () => {
      trace(log)
      const before = traces()
      const { lines = [], ...rest } = await asJson(json)
      expect(traces()).toBe(before + 1)
      expect(rest).toMatchObject({ as: 'log', isWhole: true, found: 6, sections: [{}, { failed: true }] })
      expect(lines.map(({ number, text, section }) => [number, text, section])).toEqual([
        [1, 'Getting source', 1],
        [2, '$ npm test', 2],
        [3, '<script>alert(1)</script> & more', 2],
        [4, 'to acme/vault/keys in two colours', 2],
        [5, 'deploy --token=[REDACTED] to acme/vault/keys', 2],
        [6, 'ERROR: Job failed: exit code 1', 2],
      ])
      expect(await asJson(`${json}?find=NPM`)).toMatchObject({ found: 1, lines: [{ number: 2 }] })
      expect(await asJson(`${json}?find=nowhere`)).toMatchObject({ found: 0, lines: [] })
    })

    it("reports in the JSON which part of a job's log is omitted and why", async () => {
      trace(`CI_DEBUG_TRACE="true"\n${log}`)
      expect(await asJson(json)).toEqual({ as: 'traced' })
      const asked = traces()
      expect(await asJson(json.replace('/7/jobs/70', '/9/jobs/90'))).toEqual({ as: 'traced' })
      expect(traces()).toBe(asked)
      trace('{}', 403)
      expect(await asJson(json)).toMatchObject({ as: 'refused' })
    })

    it("limits a job's log in JSON as on the page", async () => {
      trace(`${'a line that goes on\n'.repeat(200_000)}${log}`)
      const { lines = [], missing } = await asJson(json)
      expect(JSON.stringify(lines).length).toBeLessThan(12 * 2 ** 20)
      expect((missing?.lines ?? 0) + lines.length).toBe(200_006)
      expect(await asJson(`${json}?find=goes+on`)).toMatchObject({ lines: { length: 1_000 } })
    })

    it("returns no job log as JSON without the token or for a hidden project, and conforms to the API's schema", async () => {
      const before = traces()
      expect((await fetch(house.url + json)).status).toBe(401)
      expect((await ask('/api/pipelines/301/8/jobs/80/log')).status).toBe(404)
      expect((await ask('/api/pipelines/3/7/jobs/71/log')).status).toBe(404)
      expect((await ask(`/api/pipelines/3/7/jobs/x/log`)).status).toBe(400)
      expect((await ask(`${json}?find=${'x'.repeat(201)}`)).status).toBe(400)
      expect(traces()).toBe(before)
    })
  })

  it("does not fetch a job's log again while its page is open", async () => {
    expect(await read(page)).not.toContain('id="live"')
  })
})

it.skipIf(chromiumPath === undefined)("opens a job's log from the job's page in a browser", async () => {
  trace(log)
  const browser = await launch()
  try {
    const opened = await (await openContext(browser)).newPage()
    const complaints = complaintsOf(opened)
    await opened.goto(`${house.url}/pipelines/3/7/jobs/70`)
    await opened.getByLabel('Admin token').fill(token)
    await opened.getByRole('button', { name: 'Log in' }).click()
    await opened.getByRole('link', { name: 'Show its log' }).waitFor()
    for (const look of defaultLooks) {
      await showAs(opened, look)
      await opened.goto(`${house.url}/pipelines/3/7/jobs/70`)
      await opened.getByRole('link', { name: 'Show its log' }).click()
      await opened.getByText('ERROR: Job failed').waitFor()
      expect(await opened.getByText('Getting source').first().isVisible()).toBe(true)
      expect(await opened.locator('details.log-section[open]').count()).toBe(1)
      await expectReadable(opened, look)
      await opened.getByRole('searchbox').fill('npm')
      await opened.keyboard.press('Enter')
      await opened.getByText('1 line of 6').waitFor()
      expect(complaints).toEqual([])
    }
  } finally {
    await browser.close()
  }
})

it('shows no job logs unless configured', async () => {
  const plain = await openHouse({ PIPESPAN_ADMIN_TOKEN: token })
  try {
    await plain.live(['retried'])
    const headers = { authorization: `Bearer ${token}` }
    const { pipelines } = (await (await fetch(`${plain.url}/api/pipelines`, { headers })).json()) as {
      pipelines: { projectId: number; pipelineId: number; jobs: { id: number }[] }[]
    }
    const [one] = pipelines
    const job = `${plain.url}/pipelines/${one?.projectId}/${one?.pipelineId}/jobs/${one?.jobs[0]?.id}`
    expect(await (await fetch(job, { headers })).text()).not.toContain('Show its log')
    expect((await fetch(`${job}/log`, { headers })).status).toBe(404)
    expect((await fetch(`${job.replace('/pipelines/', '/api/pipelines/')}/log`, { headers })).status).toBe(404)
  } finally {
    await plain.close()
  }
})
