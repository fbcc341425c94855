// A large delivery is read selectively, with the same result as if all of it were built: what is JSON and what is not, escapes,
// duplicates, bytes that are no UTF-8.
// A long run: PIPESPAN_FUZZ_RUNS=5000000 PIPESPAN_FUZZ_SEED=1 vitest run test/platform/webhook/json-pick.test.ts -t 'whatever is wrong' --testTimeout 0
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { damaged } from '../../fuzz/damaged.ts'
import { fuzzing } from '../../fuzz/mutations.ts'
import { objectShape, type Shape } from '../../../src/platform/webhook/wire-shape.ts'
import { parseDelivery, parseInTurns } from '../../../src/platform/webhook/parse-delivery.ts'
import type { Parsed } from '../../../src/platform/port/webhook.ts'
import { ReportFault } from '../../../src/platform/reports/report-fault.ts'
import { Items } from '../../../src/platform/webhook/wire-items.ts'
import { pickJson } from '../../../src/platform/webhook/json-pick.ts'
import { pipelineEvent } from '../../bounds/pipelines.ts'
import { profiles } from '../../../src/app/profile.ts'
import { readPipelineHook } from '../../../src/platform/webhook/payload.ts'
import { turnsDuring } from '../../support/turns.ts'
import { withoutVariables } from '../../../src/platform/webhook/without-variables.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const list = (length: number, item: (index: number) => string): string =>
  Array.from({ length }, (_, n) => item(n)).join(',')

async function read(body: Uint8Array, large: number, event = 'Pipeline Hook'): Promise<Parsed> {
  return parseInTurns(
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

/** Keeps its items. */
class Kept extends Items {
  readonly items: unknown[] = []

  override add(item: unknown): void {
    super.add(item)
    this.items.push(item)
  }

  toJSON(): unknown {
    return this.items
  }
}

const begin = (): Kept => new Kept()
const everything = objectShape({ a: 'scalar', b: 'texts', c: { items: 'scalar', begin } })
/** Windows cut anywhere, with items parsed as a whole or not. */
const windows = fc.record({ window: fc.integer({ min: 1, max: 40 }), largeItem: fc.constantFrom(0, 2 ** 30) })
const whole64KiB = { window: 64 * 1024, largeItem: 64 * 1024 }

async function pick(body: Uint8Array, shape: Shape = everything, sizes = whole64KiB): Promise<unknown> {
  const picked: unknown = JSON.parse(JSON.stringify(await pickJson(body, shape, sizes)))
  return picked
}

/** What a shape reads of a value. `itemsToo`: and of the items of lists, which are whole otherwise. */
function selected(value: unknown, shape: Shape, itemsToo: boolean): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    if (shape === 'texts') return value.map((item: unknown) => selected(item, 'scalar', itemsToo))
    if (typeof shape !== 'object' || !('items' in shape)) return null
    return value.map((item: unknown) => (itemsToo ? selected(item, shape.items, itemsToo) : item))
  }
  if (typeof shape !== 'object' || !('fields' in shape)) return null
  return Object.fromEntries(
    [...shape.fields].flatMap(([key, inner]) =>
      Object.hasOwn(value, key) ? [[key, selected((value as Record<string, unknown>)[key], inner, itemsToo)]] : [],
    ),
  )
}

describe('a large body', () => {
  it('is read like a small one, whatever is wrong with it', async () => {
    await fc.assert(
      fc.asyncProperty(damaged, async ({ event, body }) => {
        const [picked, built] = [await read(body, 0, event), await read(body, Infinity, event)]
        if (!isDeepStrictEqual(picked, built)) expect(picked).toEqual(built)
      }),
      fuzzing(2_000),
    )
  })

  it.each(['null', '[]', '{"a":1}', '"yes"', '1', 'true'])(
    'has the same flags as a small one if they are %s',
    async flag => {
      const body = bytes(
        `{"object_kind":"pipeline","project":{"id":1},"object_attributes":{"id":7,"status":"failed","protected_ref":${flag},"tag":${flag}}}`,
      )
      const small = await read(body, Infinity)
      expect(small.outcome).toBe('observation')
      expect(await read(body, 0)).toEqual(small)
    },
  )

  it('is accepted exactly if it is JSON, and stored without variables', async () => {
    await fc.assert(
      fc.asyncProperty(damaged, windows, async ({ body }, sizes) => {
        const expected = whole(body)
        if (expected === undefined) {
          await expect(pick(body, everything, sizes)).rejects.toThrow(ReportFault)
          return
        }
        await pick(body, everything, sizes)
        const kept: unknown = JSON.parse(new TextDecoder().decode(await withoutVariables(body)))
        const plain: unknown = JSON.parse(new TextDecoder().decode(body), (key, value: unknown) =>
          key === 'variables' ? undefined : value,
        )
        if (!isDeepStrictEqual(kept, plain)) expect(kept).toEqual(plain)
      }),
      fuzzing(2_000),
    )
  })

  it('yields what its shape reads of the values of JSON.parse, wherever its windows are cut', async () => {
    const shape = objectShape({ a: 'scalar', b: 'texts', c: { items: everything, begin }, d: everything })
    const { any } = fc.letrec<{ any: unknown }>(tie => ({
      any: fc.oneof(
        { maxDepth: 5 },
        fc.jsonValue({ maxDepth: 1 }),
        fc.array(tie('any')),
        fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', '', 'ä', '\\u0061', 'constructor'), tie('any')),
      ),
    }))
    await fc.assert(
      fc.asyncProperty(any, windows, fc.constantFrom(undefined, ' \t'), async (value, sizes, space) => {
        const text = JSON.stringify(value, undefined, space)
        const expected = selected(JSON.parse(text), shape, sizes.largeItem === 0)
        expect(await pick(bytes(text), shape, sizes)).toEqual(expected)
      }),
      fuzzing(1_000),
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
  ])('yields the fields of %s that are read', async (text, expected) => {
    for (const window of [1, 2, 3, 1_000]) {
      for (const largeItem of [0, 1_000]) {
        expect(await pick(bytes(text), everything, { window, largeItem })).toEqual(expected)
      }
    }
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
  ])('is refused as %j', async text => {
    expect(whole(bytes(text))).toBeUndefined()
    for (const window of [1, 2, 1_000]) {
      await expect(pick(bytes(text), everything, { window, largeItem: 0 })).rejects.toThrow(ReportFault)
    }
  })

  it('may be nested to any depth, in ignored and in used fields', async () => {
    const deep = '['.repeat(1_000_000) + ']'.repeat(1_000_000)
    expect(await pick(bytes(`{"z":${deep},"a":${deep},"b":["x"]}`))).toEqual({ a: null, b: ['x'] })
    const objects = '{"a":'.repeat(200_000) + '1' + '}'.repeat(200_000)
    expect(await pick(bytes(`{"z":${objects},"b":["x"]}`))).toEqual({ b: ['x'] })
    await expect(pick(bytes(`{"z":${deep.slice(1)}}`))).rejects.toThrow(ReportFault)
  })

  it('has long texts cut, but never within a character or an escape', async () => {
    for (const unit of ['x', 'ü', '€', '😀', '\\n', '\\u00e9', '\\ud83d\\ude00']) {
      for (const lead of ['', 'a', 'ab', 'abc', 'abcd', 'abcde']) {
        const text = `"${lead}${unit.repeat(500_000)}"`
        const { a } = (await pick(bytes(`{"a":${text}}`))) as { a: string }
        const expected = JSON.parse(text) as string
        expect(a.length).toBeGreaterThan(65_536)
        expect(a.length).toBeLessThan(400_000)
        expect(expected.startsWith(a.slice(0, 65_536))).toBe(true)
      }
    }
  })
})

describe('a large body that is parsed in turns', () => {
  const head = '"object_attributes":{"id":1,"status":"success"},"project":{"id":1}'
  const job = (id: number, unknown: string): string =>
    `{"id":${id + 1},"name":"job ${id}","status":"success","unknown":[${unknown}0]}`
  const lists = (count: number): string => '[],'.repeat(count)

  it.each([
    ['many jobs', `{${head},"builds":[${list(20_000, id => job(id, '0,'.repeat(100)))}]}`],
    ['large jobs', `{${head},"builds":[${list(80, id => job(id, lists(20_000)))}]}`],
    ['one job', `{${head},"builds":[${job(1, lists(1_600_000))}]}`],
    ['many fields', `{${'"unknown":0,'.repeat(500_000)}${head}}`],
    ['lists within lists', `{"unknown":${'['.repeat(2_500_000)}${']'.repeat(2_500_000)},${head}}`],
    ['many variables', `{"variables":[${lists(1_600_000)}0],${head}}`],
    ['escapes', `{"commit":{"message":"${'\\u00e9'.repeat(1_000_000)}"},${head}}`],
  ])('has the same result as at once, and lets other work run in between: %s', async (_, text) => {
    const delivery = { event: 'Pipeline Hook', instance: 'https://git.example.com', body: bytes(text) }
    const options = { profile: profiles.generic, traceparent: true }
    const parsed = parseInTurns(delivery, options)
    expect(await turnsDuring(Promise.resolve(parsed))).toBeGreaterThan(1)
    expect(await parsed).toEqual(parseDelivery(delivery, options))
    expect(await turnsDuring(withoutVariables(delivery.body))).toBeGreaterThan(1)
  })
})

describe('a pipeline of many jobs', () => {
  it("is read completely up to the platform's maximum", async () => {
    const parsed = await read(bytes(pipelineEvent({ id: 1, jobs: 40_000 })), 256 * 1024)
    expect(parsed.outcome === 'observation' && parsed.observation.jobs.length).toBe(40_000)
  })

  it.each([0, Infinity])('is refused with a message above that, in either way of reading', async large => {
    const jobs = `[${'{"id":1},'.repeat(50_000)}{"id":1}]`
    const body = `{"object_attributes":{"id":1,"status":"success"},"project":{"id":1},"builds":${jobs}}`
    const parsed = await read(bytes(body), large)
    expect(parsed.outcome === 'unparseable' && parsed.reason).toMatch(/lists 50001 jobs: more than 50000 .*Split/)
  })

  it('keeps only the shortened part of a long text in memory', () => {
    const body: unknown = JSON.parse(pipelineEvent({ id: 1, commitMessage: 'x'.repeat(70_000) }))
    const context = { instance: 'https://git.example.com', instanceHeader: '', traceparent: false }
    const { observation } = readPipelineHook(body, context)
    expect(observation.pipeline?.facts.commit?.message).toHaveLength(65_536)
  })
})
