// Tests the logs that pages show, with responses over HTTP: no user waits forever, and no log delays other work.
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { answer, startPlatform, type PlatformServer } from '../rest/platform-server.ts'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { createInMemoryBudget } from '../../../src/platform/rest/budget.ts'
import { createPlatformClient } from '../../../src/platform/rest/client.ts'
import type { PlatformClient } from '../../../src/platform/port.ts'
import type { Budget } from '../../../src/platform/port/budget.ts'
import { createShowLog, runsOf } from '../../../src/platform/job-log/show-log.ts'
import type { ShowLog, ShownLog, ShowRules } from '../../../src/platform/port/inside.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { ServerResponse } from 'node:http'

const job = { projectId: 3, id: 70, start: 0, end: 60_000, isScriptFailure: false }
const escape = '\u001b'

describe('a job log that a page shows', () => {
  let platform: PlatformServer
  let client: PlatformClient
  let now = 0
  /** The priorities of the requests for which API budget was requested. */
  let asked: string[]
  /** Whether the API budget is exhausted, so that the next request would have to wait. */
  let isUsedUp: boolean

  beforeEach(async () => {
    platform = closeAfterTest(await startPlatform(answer(200, 'one\ntwo\n')))
    asked = []
    isUsedUp = false
    const inner = createInMemoryBudget({ perMinute: 1_000 }, systemClock)
    const budget: Budget = {
      ...inner,
      take: async (priority, signal) => {
        asked.push(priority)
        if (isUsedUp) await inner.observed({ pause: 60_000 })
        return inner.take(priority, signal)
      },
    }
    client = closeAfterTest(
      createPlatformClient({
        ...{ url: platform.url, token: () => 'secret-of-the-platform', tokenType: 'private', budget },
        ...{ concurrency: 2, userAgent: 'test', clock: systemClock, log: silentLog() },
      }),
    )
  })
  const showing = (more: Partial<ShowRules> = {}): ShowLog =>
    createShowLog(client, {
      ...{
        redactText: createTextRedaction([]),
        readMax: 2 ** 20,
        maxPerMinute: 100,
        clock: { now: () => now },
      },
      ...more,
    })
  const textsOf = (read: ShownLog): unknown =>
    read.as === 'log' ? read.lines.map(({ runs }) => runs.map(({ text }) => text).join('')) : read

  it('requests a log for a page with a higher priority than polls and backfills have', async () => {
    expect(textsOf(await showing()(job))).toEqual(['one', 'two'])
    expect(asked).toEqual(['page'])
  })

  it('reports a timeout if the platform stops sending the log', async () => {
    platform.reply = (_, response) => {
      response.writeHead(200)
      response.write('one\n')
    }
    const show = showing({ timeoutMs: 200 })
    const read = await show(job)
    expect(read.as === 'refused' && read.what).toContain('within 0.2 s')
    platform.reply = answer(200, 'now\n')
    expect(textsOf(await showing()(job))).toEqual(['now'])
  })

  it('refuses to show a log, without sending a request to the platform, if the API budget is exhausted', async () => {
    isUsedUp = true
    expect(await showing({ timeoutMs: 100 })(job)).toMatchObject({ as: 'refused' })
    expect(platform.asked).toEqual([])
  })

  it('refuses to show a log while two other logs are being fetched, and advises the user to reload', async () => {
    const held: ServerResponse[] = []
    platform.reply = (_, response) => held.push(response)
    const show = showing()
    const both = [show(job), show({ ...job, id: 71 })]
    expect(await show({ ...job, id: 72 })).toMatchObject({
      ...{ as: 'refused', what: 'Other logs are being fetched.' },
      remedy: 'Try again in a few seconds.',
    })
    await expect.poll(() => held.length).toBe(2)
    for (const response of held) response.writeHead(200).end('theirs\n')
    expect((await Promise.all(both)).map(textsOf)).toEqual([['theirs'], ['theirs']])
    platform.reply = answer(200, 'mine\n')
    expect(textsOf(await show({ ...job, id: 72 }))).toEqual(['mine'])
  })

  it('shows at most a limited number of logs per minute, so that API budget is left for other requests', async () => {
    const show = showing({ maxPerMinute: 2 })
    for (const as of ['log', 'log', 'refused', 'refused']) expect(await show(job)).toMatchObject({ as })
    expect(platform.asked).toHaveLength(2)
    now += 60_000
    expect(await show(job)).toMatchObject({ as: 'log' })
    // Setting the clock back must not cause refusals.
    now -= 3_600_000
    expect(await show(job)).toMatchObject({ as: 'log' })
  })

  it('shows the beginning of a log, and the end of the part that was read if the log is too long', async () => {
    const line = `${escape}[32m${'x'.repeat(95)}${escape}[0m\n`
    platform.reply = answer(200, line.repeat(40_000))
    const read = await showing({ readMax: line.length * 30_000 })(job)
    if (read.as !== 'log') throw new Error(read.as)
    expect(read.isWhole).toBe(false)
    expect(read.lines.length + (read.missing?.lines ?? 0)).toBe(30_000)
    expect(read.lines.length).toBeLessThan((1024 * 1024) / 100)
    expect(read.lines.at(-1)).toMatchObject({ number: 30_000, runs: [{ colour: 2 }] })
  })

  it('redacts a log even if part of a secret has another colour or a private key spans several lines', async () => {
    const key = ['-----BEGIN RSA PRIVATE KEY-----', 'bm90IGEga2V5', '-----END RSA PRIVATE KEY-----']
    platform.reply = answer(200, [`glpat-${escape}[31mAbCdEfGhIj0123456789${escape}[0m`, ...key, 'end', ''].join('\n'))
    const hidden = ['[REDACTED]', '[REDACTED]', '[REDACTED]', '[REDACTED]', 'end']
    expect(textsOf(await showing()(job))).toEqual(hidden)
  })
})

it.each([
  ['plain', [{ text: 'plain' }]],
  [
    `${escape}[31;1mred${escape}[0;m and ${escape}[92mgreen`,
    [{ text: 'red', bold: true, colour: 1 }, { text: ' and ' }, { text: 'green', colour: 10 }],
  ],
  [`${escape}[1mbold${escape}[22m not`, [{ text: 'bold', bold: true }, { text: ' not' }]],
  [
    `${escape}[38;5;4mblue${escape}[38;5;200mpink${escape}[38;2;1;2;31mtrue`,
    [{ text: 'blue', colour: 4 }, { text: 'pink' }, { text: 'true' }],
  ],
  [`${escape}[48;5;1mground${escape}[39m`, [{ text: 'ground' }]],
  [`${escape}[2Kcleared${escape}[3`, [{ text: 'cleared' }]],
  [`${escape}]8;;${escape}[31mx${escape}\\link`, undefined],
])('parses the colours of the log line %j', (raw, runs) => {
  if (runs !== undefined) expect(runsOf(raw)).toEqual(runs)
  expect(
    runsOf(raw)
      .map(({ text }) => text)
      .join(''),
  ).not.toContain(escape)
})
