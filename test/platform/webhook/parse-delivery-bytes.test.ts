// Bodies that are no payload, or hardly: cut off, not JSON, not UTF-8, hostile keys, deep and large.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseInTurns } from '../../../src/platform/webhook/parse-delivery.ts'
import { profiles } from '../../../src/app/profile.ts'

const failed = readFileSync(new URL('../../fixtures/webhooks/pipeline-failed.json', import.meta.url))
const plain = { profile: profiles.generic, traceparent: false }

describe('a body that is no payload', () => {
  const event = { event: 'Pipeline Hook' }
  /** In both ways, with one result. */
  const bytes = async (body: Uint8Array) => {
    const parsed = await parseInTurns({ ...event, body }, { ...plain, large: 0 })
    expect(await parseInTurns({ ...event, body }, { ...plain, large: Infinity })).toEqual(parsed)
    return parsed
  }
  const notJson = 'The body is not JSON. Look for what cuts or rewrites it on its way from the platform.'

  it.each([
    ['empty', new Uint8Array()],
    ['cut off', failed.subarray(0, 700)],
    ['HTML', Buffer.from('<html>planted</html>')],
    ['random bytes', new Uint8Array([0x00, 0xff, 0xfe, 0x80])],
    ['UTF-16', Buffer.from('{"object_kind":"pipeline"}', 'utf16le')],
  ])('(%s) is refused without repeating it', async (_what, body) => {
    expect(await bytes(body)).toEqual({ outcome: 'unparseable', reason: notJson })
  })

  it.each(['null', '7', '"planted"', '[]', '['.repeat(300_000) + ']'.repeat(300_000)])(
    'of another shape is refused without repeating it (%#)',
    async text => {
      const parsed = await bytes(Buffer.from(text))
      expect(parsed).toMatchObject({ outcome: 'unparseable' })
      expect(JSON.stringify(parsed)).toContain('The pipeline event is not a JSON object.')
    },
  )

  it('is accepted with a byte order mark or with bytes that are not UTF-8', async () => {
    const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), failed])
    expect(await bytes(marked)).toEqual(await bytes(failed))
    const latin = Buffer.from(failed.toString().replace('Charge', 'Ch\u00e4rge'), 'latin1')
    const parsed = await bytes(latin)
    expect(parsed.outcome === 'observation' && parsed.observation.pipeline?.facts.commit?.message).toContain(
      'Ch\ufffdrge',
    )
  })

  it('may have keys such as __proto__ without an effect', async () => {
    const evil = '{"isAdmin":true,"toString":1}'
    const text = failed.toString().replaceAll('{', `{"__proto__":${evil},"constructor":{"prototype":${evil}},`)
    const parsed = await bytes(Buffer.from(text))
    expect(parsed).toEqual(await bytes(failed))
    expect({}).not.toHaveProperty('isAdmin')
    expect(JSON.stringify(parsed)).not.toMatch(/isAdmin|__proto__/)
  })

  it('may have unknown fields of any depth and size', async () => {
    const deep = '['.repeat(300_000) + ']'.repeat(300_000)
    const wide = JSON.stringify('y'.repeat(5_000_000))
    const text = failed.toString().replace('{', `{"deep":${deep},"wide":${wide},`)
    expect(await bytes(Buffer.from(text))).toEqual(await bytes(failed))
  })
})
