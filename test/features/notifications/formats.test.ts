// Tests the bodies of notifications: the contents of each format, and that text from projects mentions nobody and creates no links.
import { describe, expect, it } from 'vitest'
import { afterReport } from '../../../src/features/notifications/incident.ts'
import { encodeNotification, type NotificationFormat } from '../../../src/features/notifications/formats.ts'
import type { EventChunk } from '../../../src/model/event.ts'
import type { Condition } from '../../../src/model/condition.ts'

const at = Date.UTC(2026, 5, 1, 12)

const condition: Condition = {
  ...{ kind: 'default-branch', instance: 'https://git.example.com', state: 'broken', version: [8, 1], at },
  ...{ project: { id: 3, path: 'acme/shop' }, subject: 'main', title: 'acme/shop: main is broken' },
  ...{ text: 'Pipeline 8 failed in unit.', url: 'https://git.example.com/acme/shop/-/pipelines/8' },
  details: { 'cicd.pipeline.run.id': '8', 'user.name': undefined },
}

/** Returns the messages of an incident that starts with this condition and ends two hours later. */
function messages(more: Partial<Condition> = {}): EventChunk[] {
  const begin = { condition: { ...condition, ...more }, to: ['chat'], profile: 'generic' }
  const first = afterReport(undefined, begin, at)!
  const fixed = { ...begin.condition, state: 'fixed' as const, version: [9, 1], at: at + 7_200_000 }
  const second = afterReport(first.known, { ...begin, condition: { ...fixed, text: 'Pipeline 9 succeeded.' } }, at)!
  return [first.message!.chunk, second.message!.chunk]
}

function body(format: NotificationFormat, chunk: EventChunk): Record<string, unknown> {
  const bytes = encodeNotification(format, { from: 'ci@example.com', to: ['team@example.com'] })(chunk)
  return JSON.parse(Buffer.from(bytes).toString()) as Record<string, unknown>
}

describe('notification formats', () => {
  it('encodes a notification as a CloudEvent 1.0 with all required attributes, and its details as data', () => {
    const [begin, end] = messages().map(chunk => body('cloudevents', chunk))
    expect(begin).toEqual({
      ...{ specversion: '1.0', id: expect.stringMatching(/^[0-9a-f]{32}\.broken$/) as string },
      ...{ source: 'https://git.example.com', type: 'com.pipespan.default_branch.broken', subject: 'acme/shop' },
      ...{ time: '2026-06-01T12:00:00.000Z', datacontenttype: 'application/json' },
      data: {
        ...{ incident: String(begin?.id).slice(0, 32), severity: 'error', title: 'acme/shop: main is broken' },
        ...{ text: 'Pipeline 8 failed in unit.', url: 'https://git.example.com/acme/shop/-/pipelines/8' },
        ...{ project: { id: 3, path: 'acme/shop' }, details: { 'cicd.pipeline.run.id': '8' } },
      },
    })
    expect(end).toMatchObject({
      ...{ type: 'com.pipespan.default_branch.fixed', time: '2026-06-01T14:00:00.000Z' },
      data: { incident: String(begin?.id).slice(0, 32), text: 'Pipeline 9 succeeded. It lasted 2 h 00 m.' },
    })
  })

  it('encodes a notification as a Slack message, with a link to the platform', () => {
    const [begin, end] = messages().map(chunk => body('slack', chunk))
    expect(begin?.text).toBe(
      ':x: *acme/shop: main is broken*\nPipeline 8 failed in unit.\n<https://git.example.com/acme/shop/-/pipelines/8|Show it>',
    )
    expect(end?.text).toContain(':white_check_mark:')
  })

  it('encodes a notification as an email in the thread of its incident', () => {
    const [begin, end] = messages().map(chunk => body('email', chunk))
    expect(begin).toMatchObject({
      ...{ from: 'ci@example.com', to: ['team@example.com'], subject: 'acme/shop: main is broken' },
      text: 'acme/shop: main is broken\n\nPipeline 8 failed in unit.\n\nhttps://git.example.com/acme/shop/-/pipelines/8',
    })
    const headersOf = (one: typeof end) => one?.headers as Record<string, string>
    expect(headersOf(begin).References).toBe(headersOf(end).References)
    expect(headersOf(begin)['Message-ID']).not.toBe(headersOf(end)['Message-ID'])
  })

  it('mentions nobody and creates no links in a notification, whatever a project is named', () => {
    const title =
      '<!channel> @here <https://evil.example|x> [y](https://evil.example) www.evil.example & </a>\r\nBcc: all'
    const [chunk] = messages({ title, text: title, url: 'javascript:alert(1)' })
    const text = String(body('slack', chunk!).text)
    expect(text).not.toMatch(/<|>|@here|\]\(|:\/\/|www\./)
    expect(text).toContain('&lt;!channel&gt;')
    expect(text).toContain('&amp;')
    const mail = body('email', chunk!)
    expect(mail.subject).not.toMatch(/[\r\n]/)
    expect(JSON.stringify(mail)).not.toContain('javascript')
    const [elsewhere] = messages({ url: 'https://evil.example/a|b>' })
    expect(String(body('slack', elsewhere!).text)).not.toContain('evil')
    const [odd] = messages({ url: 'https://git.example.com/a|b>c' })
    expect(String(body('slack', odd!).text)).toContain('<https://git.example.com/a%7Cb%3Ec|Show it>')
  })

  it.each([
    'https://evil.example/x',
    'evil.example',
    'WWW.evil.example',
    'user@evil.example',
    '[x](http://evil.example)',
    'evil\u3002example',
  ])('links only to the platform in an email or a chat message, even if a branch is named %s', branch => {
    const named = `acme/shop: \u202e\u001b[31m${branch}\u200b is broken`
    const [chunk] = messages({ title: named, text: `Pipeline 8 of ${named} failed.` })
    const mail = body('email', chunk!)
    for (const written of [String(mail.subject), String(mail.text), String(body('slack', chunk!).text)]) {
      const foreign = written.replace(/<?https:\/\/git\.example\.com\/acme\/shop\/-\/pipelines\/8(?:\|Show it>)?/, '')
      expect(foreign).not.toMatch(/:\/\/|evil[.\u3002]example|www\.|@evil|\]\(/i)
      expect(foreign).not.toMatch(/[\u001b\u202e]/)
      expect(foreign.replaceAll('\u200b', '')).toContain(branch)
    }
    expect(mail.text).toMatch(/https:\/\/git\.example\.com\/acme\/shop\/-\/pipelines\/8$/)
  })

  it('sends a notification with the same id on every attempt, so that receivers can deduplicate it', () => {
    const ids = [messages(), messages()].map(both => both.map(chunk => body('cloudevents', chunk).id))
    expect(ids[0]).toEqual(ids[1])
    expect(new Set(ids[0]).size).toBe(2)
  })
})
