// A large delivery is read selectively, with the same result as if all of it were built: what is JSON and what is not, escapes,
// duplicates, bytes that are no UTF-8.
// A long run: PIPESPAN_FUZZ_RUNS=5000000 PIPESPAN_FUZZ_SEED=1 vitest run test/platform/webhook/json-pick.test.ts -t 'whatever is wrong' --testTimeout 0
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { damaged } from '../../fuzz/damaged.ts'
import { fuzzing } from '../../fuzz/mutations.ts'
import { NotJson } from '../../../src/platform/webhook/json-walk.ts'
import { objectShape, type Shape } from '../../../src/platform/webhook/wire-shape.ts'
import { parseDelivery, parseInTurns } from '../../../src/platform/webhook/parse-delivery.ts'
import type { Parsed } from '../../../src/platform/port/webhook.ts'
import { atOnce } from '../../../src/platform/webhook/turns.ts'
import { pickJson } from '../../../src/platform/webhook/json-pick.ts'
import { pipelineEvent } from '../../bounds/pipelines.ts'
import { profiles } from '../../../src/app/profile.ts'
import { readPipelineHook } from '../../../src/platform/webhook/payload.ts'
import { withoutVariables } from '../../../src/platform/webhook/without-variables.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const list = (length: number, item: (index: number) => string): string =>
  Array.from({ length }, (_, n) => item(n)).join(',')

function read(body: Uint8Array, large: number, event = 'Pipeline Hook'): Parsed {
  return parseDelivery(
    { event, instance: 'https://git.example.com', body },
    { profile: profiles.generic, traceparent: true, large },
  )
}

/** As `JSON.parse` takes them; undefined for what it does not. */
function whole(body: Uint8Array): { readonly json: unknown } | undefined {
  try {
    return { json: JSON.parse(new TextDecoder().decode(body)) }
  } catch {
    return undefined
  }
}

const everything: Shape = objectShape({ a: 'scalar', b: 'texts', c: { items: 'scalar' } })

const picking = (body: Uint8Array, shape: Shape): unknown => atOnce(pickJson(body, shape))

function pick(body: Uint8Array): unknown {
  const picked = picking(body, everything)
  return JSON.parse(
    JSON.stringify(picked, (_, value: unknown) => {
      const isList = typeof value === 'object' && value !== null && Symbol.iterator in value
      return isList ? [...(value as Iterable<unknown>)] : value
    }),
  )
}

describe('a large body', () => {
  it('is read like a small one, whatever is wrong with it', () => {
    fc.assert(
      fc.property(damaged, ({ event, body }) => {
        const [picked, built] = [read(body, 0, event), read(body, Infinity, event)]
        if (!isDeepStrictEqual(picked, built)) expect(picked).toEqual(built)
      }),
      fuzzing(2_000),
    )
  })

  it.each(['null', '[]', '{"a":1}', '"yes"', '1', 'true'])(
    'has the same protected ref as a small one if it is %s',
    flag => {
      const body = bytes(
        `{"object_kind":"pipeline","project":{"id":1},"object_attributes":{"id":7,"status":"failed","protected_ref":${flag}}}`,
      )
      expect(read(body, Infinity).outcome).toBe('observation')
      expect(read(body, 0)).toEqual(read(body, Infinity))
    },
  )

  it('is accepted exactly if it is JSON, and stored without variables', () => {
    fc.assert(
      fc.property(damaged, ({ body }) => {
        const expected = whole(body)
        if (expected === undefined) {
          expect(() => picking(body, everything)).toThrow(NotJson)
          return
        }
        picking(body, everything)
        const kept: unknown = JSON.parse(new TextDecoder().decode(atOnce(withoutVariables(body))))
        const plain: unknown = JSON.parse(new TextDecoder().decode(body), (key, value: unknown) =>
          key === 'variables' ? undefined : value,
        )
        if (!isDeepStrictEqual(kept, plain)) expect(kept).toEqual(plain)
      }),
      fuzzing(2_000),
    )
  })

  it.each([
    ['{"a":1,"a":2}', { a: 2 }],
    ['{"a":"x","\\u0061":"y"}', { a: 'y' }],
    ['{"a":{"a":1}}', { a: null }],
    ['{"a":-0.5e+2,"z":1e999}', { a: -50 }],
    ['{"a":1e400}', { a: null }],
    ['{"a":"\\ud83d\\ude00\\ud800"}', { a: '😀\ud800' }],
    ['{"b":["x",1,[],{"a":1},null],"c":[]}', { b: ['x', 1, null, null, null], c: [] }],
    ['{"c":["x",1,[[1]],{"a":1}],"c":["z"]}', { c: ['z'] }],
    [' \r\n{ "c" : [ 1 , 2 ] , "a" : true } \t', { c: [1, 2], a: true }],
    ['{"__proto__":{"a":1},"constructor":2}', {}],
    ['{}', {}],
    ['"a"', 'a'],
  ])('yields the fields of %s that are read', (text, expected) => {
    expect(pick(bytes(text))).toEqual(expected)
  })

  it.each([
    '',
    '{',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '[1,]',
    '[1 2]',
    '01',
    '1.',
    '1e',
    '-',
    '+1',
    '.5',
    'tru',
    "{'a':1}",
  ])('is refused as %j', text => {
    expect(whole(bytes(text))).toBeUndefined()
    expect(() => picking(bytes(text), everything)).toThrow(NotJson)
  })

  it('may be nested to any depth, in ignored and in used fields', () => {
    const deep = '['.repeat(1_000_000) + ']'.repeat(1_000_000)
    expect(pick(bytes(`{"z":${deep},"a":${deep},"b":["x"]}`))).toEqual({ a: null, b: ['x'] })
    const objects = '{"a":'.repeat(200_000) + '1' + '}'.repeat(200_000)
    expect(pick(bytes(`{"z":${objects},"b":["x"]}`))).toEqual({ b: ['x'] })
    expect(() => picking(bytes(`{"z":${deep.slice(1)}}`), everything)).toThrow(NotJson)
  })

  it('has long texts cut, but never within a character or an escape', () => {
    for (const unit of ['x', 'ü', '€', '😀', '\\n', '\\u00e9', '\\ud83d\\ude00']) {
      for (const lead of ['', 'a', 'ab', 'abc', 'abcd', 'abcde']) {
        const text = `"${lead}${unit.repeat(500_000)}"`
        const { a } = pick(bytes(`{"a":${text}}`)) as { a: string }
        const expected = JSON.parse(text) as string
        expect(a.length).toBeGreaterThan(65_536)
        expect(a.length).toBeLessThan(400_000)
        expect(expected.startsWith(a.slice(0, 65_536))).toBe(true)
      }
    }
  })
})

describe('a large body that is parsed in turns', () => {
  it('has the same result as at once, and lets other work run in between', async () => {
    const jobs = list(
      20_000,
      id => `{"id":${id + 1},"name":"job ${id}","status":"success","padding":"${'x'.repeat(200)}"}`,
    )
    const body = bytes(
      `{"ignored":[${'[],'.repeat(500_000)}0],"object_attributes":{"id":1,"status":"success"},"project":{"id":1},"builds":[${jobs}]}`,
    )
    const delivery = { event: 'Pipeline Hook', instance: 'https://git.example.com', body }
    const options = { profile: profiles.generic, traceparent: true }
    let turns = 0
    let isDone = false
    const counting = (): void => {
      turns += 1
      if (!isDone) setImmediate(counting)
    }
    setImmediate(counting)
    const parsed = await parseInTurns(delivery, options)
    isDone = true
    expect(turns).toBeGreaterThan(3)
    expect(parsed).toEqual(parseDelivery(delivery, options))
  })
})

describe('a pipeline of many jobs', () => {
  it("is read completely up to the platform's maximum", () => {
    const parsed = read(bytes(pipelineEvent({ id: 1, jobs: 40_000 })), 256 * 1024)
    expect(parsed.outcome === 'observation' && parsed.observation.jobs.length).toBe(40_000)
  })

  it.each([0, Infinity])('is refused with a message above that, in either way of reading', large => {
    const jobs = `[${'{"id":1},'.repeat(50_000)}{"id":1}]`
    const body = `{"object_attributes":{"id":1,"status":"success"},"project":{"id":1},"builds":${jobs}}`
    const parsed = read(bytes(body), large)
    expect(parsed.outcome === 'unparseable' && parsed.reason).toMatch(/lists 50001 jobs: more than 50000 .*Split/)
  })

  it('keeps only the shortened part of a long text in memory', () => {
    const body: unknown = JSON.parse(pipelineEvent({ id: 1, commitMessage: 'x'.repeat(70_000) }))
    const context = { instance: 'https://git.example.com', instanceHeader: '' }
    const { observation } = atOnce(readPipelineHook(body, context))
    expect(observation.pipeline?.facts.commit?.message).toHaveLength(65_536)
  })
})
