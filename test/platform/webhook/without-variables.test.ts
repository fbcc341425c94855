// What is kept of a delivery that could not be decoded never holds its variables.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keptOfText, withoutVariables } from '../../../src/platform/webhook/without-variables.ts'

const encode = (text: string) => new TextEncoder().encode(text)
const kept = async (text: string) => new TextDecoder().decode(await withoutVariables(encode(text)))

describe('a delivery that cannot be decoded', () => {
  it('is stored as JSON without its variables', async () => {
    const body = {
      object_kind: 'pipeline',
      object_attributes: { id: 'x', variables: [{ key: 'A', value: 'planted' }], status: 'failed' },
      variables: { A: 'planted' },
      builds: [{ id: 1, variables: ['planted'] }],
    }
    expect(JSON.parse(await kept(JSON.stringify(body)))).toEqual({
      object_kind: 'pipeline',
      object_attributes: { id: 'x', status: 'failed' },
      builds: [{ id: 1 }],
    })
  })

  it('is stored unchanged without variables, except a byte order mark', async () => {
    expect(await kept('\ufeff{"a":[1,null,"ü"],"__proto__":{"b":true}}')).toBe(
      '{"a":[1,null,"ü"],"__proto__":{"b":true}}',
    )
    expect(await kept('null')).toBe('null')
  })

  it('is cut to its beginning if it is not JSON', async () => {
    expect(await kept('<html>')).toBe('<html>')
    expect(await withoutVariables(encode('x'.repeat(10_000)))).toHaveLength(keptOfText)
    expect(await withoutVariables(new Uint8Array([0xff, 0xfe, 0x00]))).toEqual(new Uint8Array([0xff, 0xfe, 0x00]))
    expect(await kept('')).toBe('')
  })

  it('is cut before its variables if it is incomplete', async () => {
    const broken = '{"object_attributes":{"id":31,"variables":[{"key":"A","value":"planted"}],"url":"https'
    expect(await kept(broken)).toBe('{"object_attributes":{"id":31,"')
  })

  it('is stored without variables at any depth', async () => {
    const around = (inner: string): string => '['.repeat(500_000) + inner + ']'.repeat(500_000)
    expect((await kept(around('{"variables":"planted"}'))) === around('{}')).toBe(true)
  })

  it.each([
    ['{"variables":1}', '{}'],
    ['{"variables":1,"a":2}', '{"a":2}'],
    ['{ "variables":1 , "variables":[{"variables":{}}] , "a":2,"b":3 }', '{  "a":2,"b":3 }'],
    ['{"a":{"variables":1,"b":[]},"variables":1,"c":{"variables":1}}', '{"a":{"b":[]},"c":{}}'],
    ['[{"variables":1},{"a":1,"vari\\u0061bles":1},{"variablesX":1}]', '[{},{"a":1},{"variablesX":1}]'],
  ])('is stored without variables in any place: %s', async (text, expected) => {
    expect(await kept(text)).toBe(expected)
  })

  it('never contains a variable, whatever the JSON and wherever it ends', async () => {
    const around = fc.dictionary(fc.string(), fc.jsonValue())
    await fc.assert(
      fc.asyncProperty(around, around, fc.nat(), async (outer, inner, at) => {
        const body = { ...outer, object_attributes: { ...inner, variables: [{ key: 'K', value: 'planted' }] } }
        const text = JSON.stringify(body)
        expect(await kept(text)).not.toContain('planted')
        expect(await kept(text.slice(0, at % text.length))).not.toContain('planted')
      }),
    )
  })
})
