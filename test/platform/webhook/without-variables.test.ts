// Tests that the stored body of an undecodable delivery never contains the delivery's variables.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { maxUndecodedBytes, withoutVariables } from '../../../src/platform/webhook/parse-delivery.ts'

const encode = (text: string) => new TextEncoder().encode(text)
const kept = (text: string) => new TextDecoder().decode(withoutVariables(encode(text)))

describe('the stored body of an undecodable delivery', () => {
  it('stores a body without variables unchanged, except that it removes a byte order mark', () => {
    expect(kept('\ufeff{"a":[1,null,"ü"],"__proto__":{"b":true}}')).toBe('{"a":[1,null,"ü"],"__proto__":{"b":true}}')
    expect(kept('null')).toBe('null')
  })

  it('stores only the beginning of a body that is not JSON', () => {
    expect(kept('<html>')).toBe('<html>')
    expect(withoutVariables(encode('x'.repeat(10_000)))).toHaveLength(maxUndecodedBytes)
    expect(withoutVariables(new Uint8Array([0xff, 0xfe, 0x00]))).toEqual(new Uint8Array([0xff, 0xfe, 0x00]))
    expect(kept('')).toBe('')
  })

  it('truncates a body with incomplete JSON before its variables', () => {
    const broken = '{"object_attributes":{"id":31,"variables":[{"key":"A","value":"planted"}],"url":"https'
    expect(kept(broken)).toBe('{"object_attributes":{"id":31,"')
  })

  it('stores only the beginning of a body that is nested too deeply to be serialized as JSON again', () => {
    const around = (inner: string): string => '['.repeat(500_000) + inner + ']'.repeat(500_000)
    expect(kept(around('{"variables":"planted"}'))).toBe('['.repeat(maxUndecodedBytes))
  })

  it.each([
    ['{"variables":1}', '{}'],
    ['{ "variables":1 , "variables":[{"variables":{}}] , "a":2,"b":3 }', '{"a":2,"b":3}'],
    ['{"a":{"variables":1,"b":[]},"variables":1,"c":{"variables":1}}', '{"a":{"b":[]},"c":{}}'],
    ['[{"variables":1},{"a":1,"vari\\u0061bles":1},{"variablesX":1}]', '[{},{"a":1},{"variablesX":1}]'],
  ])("removes a body's variables in any position before storing the body: %s", (text, expected) => {
    expect(kept(text)).toBe(expected)
  })

  it('never stores a variable from any JSON body, wherever it is truncated', () => {
    const around = fc.dictionary(fc.string(), fc.jsonValue())
    fc.assert(
      fc.property(around, around, fc.nat(), (outer, inner, at) => {
        const body = { ...outer, object_attributes: { ...inner, variables: [{ key: 'K', value: 'planted' }] } }
        const text = JSON.stringify(body)
        expect(kept(text)).not.toContain('planted')
        expect(kept(text.slice(0, at % text.length))).not.toContain('planted')
      }),
    )
  })
})
