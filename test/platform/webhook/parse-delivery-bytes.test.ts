// Tests bodies that are not valid payloads, or only just valid: truncated, not JSON, not UTF-8, with malicious keys, deeply nested or large.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseDelivery } from '../../../src/platform/webhook/parse-delivery.ts'
import { pipelineEvent } from '../../bounds/pipelines.ts'
import { profiles } from '../../../src/daemon/profile.ts'

const failed = readFileSync(new URL('../../fixtures/webhooks/pipeline-failed.json', import.meta.url))
const plain = { profile: profiles.generic, traceparent: false }

describe("a delivery's body", () => {
  const event = { event: 'Pipeline Hook' }
  const bytes = (body: Uint8Array) => parseDelivery({ ...event, body }, plain)
  const reason =
    'The body is not a JSON object. Check whether a proxy between the platform and the daemon cuts or rewrites it.'

  it.each([
    ['empty', new Uint8Array()],
    ['cut off', failed.subarray(0, 700)],
    ['HTML', Buffer.from('<html>planted</html>')],
    ['random bytes', new Uint8Array([0x00, 0xff, 0xfe, 0x80])],
    ['UTF-16', Buffer.from('{"object_kind":"pipeline"}', 'utf16le')],
  ])('rejects a body that is not a payload (%s) without repeating its text', (_what, body) => {
    expect(bytes(body)).toEqual({ outcome: 'no object', reason })
  })

  it.each(['null', '7', '"planted"', '[]', '['.repeat(300_000) + ']'.repeat(300_000)])(
    'rejects a body that is not a JSON object, and repeats none of its text (%#)',
    text => {
      expect(bytes(Buffer.from(text))).toEqual({ outcome: 'no object', reason })
    },
  )

  it('accepts a body with a byte order mark, or with bytes that are not UTF-8', () => {
    const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), failed])
    expect(bytes(marked)).toEqual(bytes(failed))
    const latin = Buffer.from(failed.toString().replace('Charge', 'Ch\u00e4rge'), 'latin1')
    const parsed = bytes(latin)
    expect(parsed.outcome === 'observation' && parsed.observation.pipeline?.facts.commit?.message).toContain(
      'Ch\ufffdrge',
    )
  })

  it('ignores keys such as __proto__ in a body', () => {
    const evil = '{"isAdmin":true,"toString":1}'
    const text = failed.toString().replaceAll('{', `{"__proto__":${evil},"constructor":{"prototype":${evil}},`)
    const parsed = bytes(Buffer.from(text))
    expect(parsed).toEqual(bytes(failed))
    expect({}).not.toHaveProperty('isAdmin')
    expect(JSON.stringify(parsed)).not.toMatch(/isAdmin|__proto__/)
  })

  it('ignores unknown fields in a body, however large and deeply nested they are', () => {
    const deep = '['.repeat(300_000) + ']'.repeat(300_000)
    const wide = JSON.stringify('y'.repeat(5_000_000))
    const text = failed.toString().replace('{', `{"deep":${deep},"wide":${wide},`)
    expect(bytes(Buffer.from(text))).toEqual(bytes(failed))
  })

  it('decodes a body with up to the maximum number of jobs, and rejects a body with more jobs with a clear message', () => {
    const whole = bytes(Buffer.from(pipelineEvent({ id: 1, jobs: 40_000 })))
    expect(whole.outcome === 'observation' && whole.observation.jobs.length).toBe(40_000)
    const jobs = `[${'{"id":1},'.repeat(50_000)}{"id":1}]`
    const parsed = bytes(
      Buffer.from(
        `{"object_attributes":{"id":1,"status":"success"},"project":{"id":1,"web_url":"https://git.example.com/a/b"},"builds":${jobs}}`,
      ),
    )
    expect(parsed.outcome === 'unparseable' && parsed.reason).toMatch(
      /lists 50001 jobs, but Pipespan reads no event with more than 50000\. Split/,
    )
  })
})
