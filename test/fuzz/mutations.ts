// Mutates payload files: fields become absent, null, another type, huge, negative, not a number, or times in other formats.
import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { eventFiles } from '../fixtures/event-files.ts'
import { runs as shortened } from '../full.ts'

export interface Mutated {
  readonly event: string
  readonly body: string
}

type Path = readonly string[]

const folder = new URL('../fixtures/webhooks/', import.meta.url)

interface Original {
  readonly event: string
  readonly text: string
  readonly paths: readonly Path[]
}

const ofPipelines: readonly Original[] = readdirSync(folder).map(file => {
  const text = readFileSync(new URL(file, folder), 'utf8')
  const event = file.startsWith('job') ? 'Job Hook' : 'Pipeline Hook'
  return { event, text, paths: pathsOf(JSON.parse(text)) }
})

const ofEvents: readonly Original[] = eventFiles.map(({ event, text }) => ({
  event,
  text,
  paths: pathsOf(JSON.parse(text)),
}))

const removed = Symbol('removed')

const texts = [
  ...['', ' ', '\0', '\ud800', '𝔘𝔫𝔦', '<script>', '__proto__', 'NaN', 'Infinity', '-1', '1e309', '17'],
  ...['9'.repeat(400), 'x'.repeat(20_000), 'success', 'running', 'failed', 'a_status_of_tomorrow'],
]
const times = [
  ...['2026-02-30 10:00:00 UTC', '0001-01-01T00:00:00Z', '9999-12-31 23:59:59 UTC', '2021-04-28 21:50:00 +0200'],
  ...['2021-04-28T21:50:00.123456+02:00', '2021-04-28', '21:50', '1619639400', 'Wed, 28 Apr 2021 21:50:00 GMT'],
  ...['2021-04-28T24:00:00Z', '2021-04-28T23:59:60Z', '2025-03-11 09:04:31 UTC', '2025-03-11 10:04:31 UTC'],
]
const numbers = [0, -0, -1, 1.5, 1e308, 2 ** 31, 2 ** 53, -(2 ** 63), 1_619_639_400, 1_619_639_400_000, 23_904]
const others: unknown[] = [
  ...[removed, null, true, false, [], {}, [null], [[]], { id: 1 }, { id: null }, [{ id: 1 }, { id: 1 }]],
  JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'),
]

const replacement = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom<unknown>(...texts, ...times, ...numbers, ...others) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
)

/** Generates a payload of a pipeline or job event with up to five changed fields. */
export const mutated: fc.Arbitrary<Mutated> = mutationsOf(ofPipelines)

/** Generates a payload of an event that is not about a pipeline, with up to five changed fields. */
export const mutatedEvent: fc.Arbitrary<Mutated> = mutationsOf(ofEvents)

function mutationsOf(originals: readonly Original[]): fc.Arbitrary<Mutated> {
  return fc.nat(originals.length - 1).chain(index => mutationOf(originals[index]!))
}

function mutationOf({ event, text, paths }: Original): fc.Arbitrary<Mutated> {
  const change = fc.tuple(fc.nat(paths.length - 1), replacement)
  return fc.array(change, { minLength: 1, maxLength: 5 }).map(changes => {
    let body: unknown = JSON.parse(text)
    for (const [path, value] of changes) body = changed(body, paths[path] ?? [], value)
    return { event, body: JSON.stringify(body) }
  })
}

/** Returns the paths of all fields in a value, and the path of the value itself. */
function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, [...path, key]))]
}

/** Changes the field at a path. Returns the body unchanged if an earlier change has removed that field. */
function changed(body: unknown, [key, ...rest]: Path, value: unknown): unknown {
  // The value is copied, because the next change may modify it.
  if (key === undefined) return value === removed ? null : (JSON.parse(JSON.stringify(value)) as unknown)
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, key)) return body
  const record = body as Record<string, unknown>
  if (rest.length === 0 && value === removed) Reflect.deleteProperty(record, key)
  else record[key] = changed(record[key], rest, value)
  return record
}

/** Returns the number of examples and the seed. Long runs set them with `PIPESPAN_FUZZ_RUNS` and `PIPESPAN_FUZZ_SEED`. */
export function fuzzing(usual: number): { numRuns: number; seed?: number; endOnFailure: boolean } {
  const { PIPESPAN_FUZZ_RUNS: runs, PIPESPAN_FUZZ_SEED: seed } = process.env
  const numRuns = runs === undefined ? shortened(usual).numRuns : Number(runs)
  return { numRuns, endOnFailure: true, ...(seed === undefined ? {} : { seed: Number(seed) }) }
}
