// Increments as they are stored until they are folded into the totals: JSON in which each series, each list of bounds and each span that exemplars point to
// is written once and named by its place, compressed, because both the row and its deletion are written to the disk. Pure.
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { storedJson } from './stored-json.ts'
import type { Amount, Exemplar, Increment, LimitedName, ProjectIncrements } from '../../../model/totals.ts'

/** A series: metric, attributes, its own limit of series, its limited name. */
type SeriesText = readonly [metric: string, attributes: string, maxSeries?: number | null, limited?: LimitedName]
type ExemplarText = readonly [] | readonly [span: number, at: number, value: number]
type AmountText =
  | readonly ['sum', by: number, ...ExemplarText]
  | readonly ['last', value: number, at: number]
  | readonly ['histogram', bounds: number, counts: readonly number[], sum: number, ...ExemplarText]
type IncrementText = readonly [series: number, folded: 0 | 1, amount: AmountText]
type Owner = Omit<ProjectIncrements, 'increments'>

interface Written {
  readonly series: readonly SeriesText[]
  readonly bounds: readonly (readonly number[])[]
  readonly spans: readonly (readonly [traceId: string, spanId: string])[]
  readonly projects: readonly (readonly [Owner, readonly IncrementText[]])[]
}

export function packed(all: readonly ProjectIncrements[]): Uint8Array {
  const series = places((one: Increment): SeriesText => seriesText(one))
  const bounds = places((one: readonly number[]) => one)
  const spans = places(({ traceId, spanId }: Exemplar) => [traceId, spanId] as const)
  const exemplar = (one: Exemplar | undefined): ExemplarText =>
    one === undefined ? [] : [spans.of(one.traceId, one.spanId, one), one.at, one.value]
  const amountText = (amount: Amount): AmountText => {
    switch (amount.kind) {
      case 'sum':
        return ['sum', amount.by, ...exemplar(amount.exemplar)]
      case 'last':
        return ['last', amount.value, amount.at]
      case 'histogram': {
        const place = bounds.of(amount.bounds, undefined, amount.bounds)
        return ['histogram', place, amount.counts, amount.sum, ...exemplar(amount.exemplar)]
      }
    }
  }
  const projects = all.map(
    ({ increments, ...owner }) =>
      [
        owner,
        increments.map((one): IncrementText => [
          series.of(one.metric, one.attributes, one),
          one.folded === true ? 1 : 0,
          amountText(one.amount),
        ]),
      ] as const,
  )
  const written: Written = { series: series.all, bounds: bounds.all, spans: spans.all, projects }
  return zstdCompressSync(JSON.stringify(written), fast)
}

/** Throws DataError if they are damaged. */
export function unpacked(content: Uint8Array): ProjectIncrements[] {
  const { series, bounds, spans, projects } = storedJson<Written>(decompressed(content))
  const exemplar = ([span, at, value]: ExemplarText): { exemplar?: Exemplar } => {
    if (span === undefined || at === undefined || value === undefined) return {}
    const [traceId, spanId] = inList(spans, span)
    return { exemplar: { at, value, traceId, spanId } }
  }
  return projects.map(([owner, increments]) => ({
    ...owner,
    increments: increments.map(([place, folded, amount]): Increment => {
      const [metric, attributes, maxSeries, limited] = inList(series, place)
      return {
        ...{ metric, attributes, limited, maxSeries: maxSeries ?? undefined },
        ...(folded === 1 ? { folded: true } : {}),
        amount: amountOf(amount),
      }
    }),
  }))

  function amountOf(amount: AmountText): Amount {
    switch (amount[0]) {
      case 'sum': {
        const [kind, by, ...of] = amount
        return { kind, by, ...exemplar(of) }
      }
      case 'last': {
        const [kind, value, at] = amount
        return { kind, value, at }
      }
      case 'histogram': {
        const [kind, place, counts, sum, ...of] = amount
        return { kind, bounds: inList(bounds, place), counts, sum, ...exemplar(of) }
      }
    }
  }
}

/** Another level takes twice the time for a tenth less. */
const fast = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** Nothing if they are damaged. */
function decompressed(content: Uint8Array): string {
  try {
    return zstdDecompressSync(content).toString()
  } catch {
    return ''
  }
}

function seriesText({ metric, attributes, maxSeries, limited }: Increment): SeriesText {
  if (limited !== undefined) return [metric, attributes, maxSeries ?? null, limited]
  return maxSeries === undefined ? [metric, attributes] : [metric, attributes, maxSeries]
}

function inList<T>(all: readonly T[], place: number): T {
  const found = all[place]
  if (found === undefined) throw new RangeError(`there is no place ${place} in a list of ${all.length}`)
  return found
}

/** A list in which what has the same two keys is once. Texts are not joined to a key, which would take most of the time. */
function places<T, W>(written: (one: T) => W) {
  const known = new Map<unknown, Map<unknown, number>>()
  const all: W[] = []
  return {
    all: all as readonly W[],
    of: (first: unknown, second: unknown, one: T): number => {
      const among = known.get(first) ?? new Map<unknown, number>()
      let place = among.get(second)
      if (place === undefined) {
        place = all.push(written(one)) - 1
        known.set(first, among.set(second, place))
      }
      return place
    },
  }
}
