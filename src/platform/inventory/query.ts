// Sends a configured query and turns the response into a gauge: the number of results, or one data point per row (REST document, "Query-language
// endpoint").
import { z } from 'zod'
import { stringify } from 'yaml'
import { maxList, readObject } from '../wire-read.ts'
import { maybe, wireFlag, wireList, wireText } from '../rest/wire-field.ts'
import { PlatformError } from '../port.ts'
import type { Asking } from '../port/asking.ts'
import type { Collected, CollectedPoint } from '../../model/inventory.ts'

export interface QuerySpec {
  /** Name of the gauge under which the query's result is exported. */
  readonly metric: string
  /** The query, in the platform's query language. */
  readonly query: string
  /** What the query covers: a project, a group, or everything if neither is set. */
  readonly project?: string | undefined
  readonly group?: string | undefined
  /** `count` if the value is the number of results. Otherwise the name of the field whose value each row's data point has. */
  readonly value: string
  /** Additional fields of each row, which become attributes. */
  readonly fields: readonly string[]
  /** Attributes that are added to every data point. */
  readonly attributes: Readonly<Record<string, string>>
}

/** The platform's limits: the length of a query in bytes, and the number of rows per request. */
export const maxQueryBytes = 10_000
export const maxRows = 100
/** Maximum number of result pages that are read per query. */
export const maxPages = 20

const field = z.object({ key: wireText, field: maybe(wireText), name: maybe(wireText), type: maybe(wireText) })
const answer = z.object({
  success: maybe(wireFlag),
  error: maybe(wireText),
  data: maybe(
    z.object({
      count: maybe(z.number()),
      nodes: maybe(wireList.transform(nodes => nodes.slice(0, maxRows).map(readObject))),
      pageInfo: maybe(z.object({ endCursor: maybe(wireText), hasNextPage: maybe(wireFlag) })),
    }),
  ),
  fields: maybe(wireList.transform(all => all.slice(0, maxList).flatMap(one => field.safeParse(one).data ?? []))),
})
type Answer = z.infer<typeof answer>

/** The request body for a query, in YAML. */
export function queryText({ query, project, group, value, fields }: Omit<QuerySpec, 'metric' | 'attributes'>): string {
  const isCount = value === 'count'
  const named = isCount ? fields : [...fields, value]
  return stringify({
    ...(named.length > 0 && { fields: named.join(', ') }),
    ...(project !== undefined && { project }),
    ...(group !== undefined && { group }),
    ...{ limit: isCount ? 1 : maxRows, query },
  })
}

/** Sends a query and returns its data points. Rejects with a PlatformError, including when the platform cannot parse the query. */
export async function askQuery(spec: QuerySpec, ask: Asking): Promise<Collected> {
  const { metric, attributes, value } = spec
  const first = await send(spec, undefined, ask)
  const { count, nodes } = first.data ?? {}
  if (value === 'count') {
    if (count === undefined) throw errorOfFields(spec, ['data.count'], first)
    return { points: [{ metric, attributes, value: count }] }
  }
  if (nodes === undefined) throw errorOfFields(spec, ['data.nodes'], first)
  const absent = absentFields(first, spec)
  if (absent.includes(value)) throw errorOfFields(spec, [value], first)
  const problem = absent.length === 0 ? undefined : errorOfFields(spec, absent, first).message
  const points = new Map<string, CollectedPoint>()
  let rows = 0
  for (let page = first, pages = 1; ; pages += 1) {
    const { nodes: own = [], pageInfo, count: all = 0 } = page.data ?? {}
    rows += own.length
    for (const one of pointsOf(page, spec)) points.set(JSON.stringify(one.attributes), one)
    const unread = Math.max(0, all - rows)
    const next = pageInfo?.hasNextPage === true ? pageInfo.endCursor : undefined
    if (next === undefined || pages >= maxPages) {
      // If the response does not contain page information, there may be further pages.
      const omitted = next !== undefined ? Math.max(1, unread) : pageInfo === undefined ? unread : 0
      return {
        points: [...points.values()],
        ...(problem !== undefined && { problem }),
        ...(omitted > 0 && { omitted }),
      }
    }
    page = await send(spec, next, ask)
  }
}

async function send(spec: QuerySpec, after: string | undefined, ask: Asking): Promise<Answer> {
  const wish = { glql_yaml: queryText(spec), ...(after !== undefined && { after }) }
  const found = await ask.post('/glql', wish, answer)
  if (found.success !== false && found.data !== undefined) return found
  throw new PlatformError({
    kind: 'refused',
    what: `The platform does not understand the query of ${spec.metric}: "${found.error ?? 'no reason given'}".`,
    remedy: 'Correct the query in the configuration (`queries`), and test it with `pipespan config check --online`.',
    endpoint: 'POST /glql',
    detail: found.error,
  })
}

/**
 * The configured fields that no row contains. The value field is included if it is not a number in any row. If there are no rows, no field is
 * reported as absent.
 */
function absentFields(page: Answer, { value, fields }: QuerySpec): string[] {
  const rows = (page.data?.nodes ?? []).filter(node => node !== undefined)
  const isWord = (found: unknown): boolean => found !== null && numberOf(found) === undefined
  const isNoNumber = rows.every(row => isWord(row[keyOf(value, page)]))
  const lacking = fields.filter(name => rows.every(row => !(keyOf(name, page) in row)))
  return rows.length === 0 ? [] : [...(isNoNumber ? [value] : []), ...lacking]
}

function errorOfFields({ metric }: QuerySpec, absent: readonly string[], { fields = [] }: Answer): PlatformError {
  const there = fields.length === 0 ? '' : ` It has ${fields.map(({ key }) => key).join(', ')}.`
  return new PlatformError({
    kind: 'unexpected-answer',
    what: `The response to the query of ${metric} has no usable ${absent.join(', ')}.${there}`,
    remedy:
      "Use field names from the platform's response in the configuration (`queries`), and test them with `pipespan config check --online`.",
    endpoint: 'POST /glql',
  })
}

/** The key of a queried field in the rows. It may differ from the field's name, such as `dueDate` for `due`. The response lists the keys. */
function keyOf(name: string, { fields = [] }: Answer): string {
  const found = fields.find(one => one.key === name) ?? fields.find(one => one.field === name || one.name === name)
  return found?.key ?? name
}

/** The data points from one page of results. Rows whose value is not a number are skipped. */
function pointsOf(page: Answer, spec: QuerySpec): CollectedPoint[] {
  const { data, fields = [] } = page
  const keys = new Map([spec.value, ...spec.fields].map(name => [keyOf(name, page), name]))
  for (const { key, type } of fields) if (type === 'dimension' && !keys.has(key)) keys.set(key, key)
  const valueKey = keyOf(spec.value, page)
  return (data?.nodes ?? []).flatMap(node => {
    if (node === undefined) return []
    const value = numberOf(node[valueKey])
    if (value === undefined) return []
    const own = [...keys].flatMap(([key, name]) => {
      const text = textOf(node[key])
      return text === undefined || key === valueKey ? [] : [[`platform.query.${name}`, text] as const]
    })
    return [{ metric: spec.metric, attributes: { ...Object.fromEntries(own), ...spec.attributes }, value }]
  })
}

function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

/** Converts a value to a string. For an object, the field that contains its name is used. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value !== 'object' || value === null) return undefined
  const { name, title, username, fullPath, reference } = value as Record<string, unknown>
  const named = [name, title, username, fullPath, reference].find(one => typeof one === 'string')
  return typeof named === 'string' ? named : undefined
}
