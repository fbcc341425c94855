// Values of JSON text that arrives in windows: the same as of the whole text, wherever the windows are cut, and only at the path.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createJsonValues, each } from '../../../src/platform/reports/json-values.ts'

const limits = { maxDepth: 20, maxValues: 1_000 }

/** The values at the path, of a text that comes in windows of so many characters. */
function valuesOf(text: string, path: readonly string[] = [], window = text.length, more: object = {}): unknown[] {
  const found: unknown[] = []
  const values = createJsonValues({ ...limits, ...more, paths: [{ path, onValue: value => found.push(value) }] })
  for (let at = 0; at < text.length; at += window) values.write(text.slice(at, at + window))
  values.end()
  return found
}

it('builds what JSON.parse builds, however the text is divided', () => {
  const json = fc.oneof(fc.array(fc.jsonValue({ maxDepth: 4 })), fc.dictionary(fc.string(), fc.jsonValue()))
  fc.assert(
    fc.property(json, fc.integer({ min: 1, max: 9 }), fc.constantFrom(undefined, 1), (value, window, space) => {
      const text = JSON.stringify(value, undefined, space).replaceAll('__proto__', 'proto')
      expect(valuesOf(text, [], window)).toEqual([JSON.parse(text)])
    }),
  )
})

it('builds only the values at the path, in objects and lists', () => {
  const path = ['a', each, 'b', each]
  const text = '{"a":[{"b":[1,{"c":[2]},"x"],"c":[3]},[[4]],{"b":{"0":5}},6],"b":[{"b":[7]}],"a":[{"b":[null]}]}'
  for (const window of [1, 3, text.length]) expect(valuesOf(text, path, window)).toEqual([1, { c: [2] }, 'x', null])
  expect(valuesOf('[{"a":1},2]', [each])).toEqual([{ a: 1 }, 2])
})

it('uses the last of repeated keys, and ignores __proto__', () => {
  const [value] = valuesOf('{"a":1,"__proto__":{"polluted":true},"a":[2]}') as [Record<string, unknown>]
  expect(value).toEqual({ a: [2] })
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  expect(value.polluted).toBeUndefined()
})

it('leaves out data beyond the limits of one value, and starts again with the next', () => {
  const text = `[[1,2,[3,[4]],5],[6],{"a":${'[1,[],'.repeat(3)}2]]]},[7]]`
  expect(valuesOf(text, [each], text.length, { maxValues: 3 })).toEqual([[1, 2, []], [6], { a: [1, []] }, [7]])
})

it.each([
  ['x', 'x'],
  ['\\\\', '\\'],
  ['\\\\u12', '\\u12'],
  ['\\u0041', 'A'],
  ['\\\\\\n', '\\\n'],
])('cuts a long string, but never within an escape: %s', (written, read) => {
  for (const lead of ['', 'xx']) {
    const text = JSON.stringify([lead]).replace('"]', `${written.repeat(550_000)}"]`)
    const whole = lead + read.repeat(550_000)
    for (const window of [10_000, 10_001]) {
      const long = String(valuesOf(text, [each], window)[0])
      expect(whole.startsWith(long)).toBe(true)
      expect(long.length).toBeGreaterThan((500_000 * read.length) / written.length)
      expect(long.length).toBeLessThan(whole.length)
    }
  }
})

it.each([
  ['nothing', '', 'not_json'],
  ['words', 'words', 'not_json'],
  ['half of it', '[{"a":1},', 'truncated'],
  ['half of a string', '["a', 'truncated'],
  ['a bracket of another kind', '[{]', 'malformed'],
  ['a word that is no value', '[nothing ]', 'malformed'],
  ['a number without end', `[${'1'.repeat(5_000)}`, 'malformed'],
  ['too many lists within each other', '['.repeat(21), 'too_deep'],
])('refuses invalid JSON: %s', (_, text, reason) => {
  for (const window of [1, 7, 10_000]) {
    expect(() => valuesOf(text, [], window)).toThrow(expect.objectContaining({ reason }) as Error)
  }
})

it.each([
  ['a comma too many', '[{"a":1,},2,]'],
  ['a missing comma', '[1 [2]]'],
  ['a line break in a string', '["a\nb"]'],
  ['an escape that is none', '["\\a\\u12"]'],
  ['documents after each other', '{"a":1} [2]'],
])('accepts %s only of a lenient caller', (_, text) => {
  for (const window of [1, 3, 10_000]) {
    expect(() => valuesOf(text, [], window)).toThrow(expect.objectContaining({ reason: 'malformed' }) as Error)
    expect(valuesOf(text, [], window, { isLenient: true })).not.toEqual([])
  }
})
