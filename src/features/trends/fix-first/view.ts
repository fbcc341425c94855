// What to fix first: what cost the most time in the last week, of all that could be fixed. It is kept for a while, because the overview is rendered every
// second.
import { costsIn } from '../cost/sql.ts'
import { day } from '../counting/figures.ts'
import { fixSources, type FoundFix } from '../../../console/overview/fix-source.ts'
import { ownSources } from './own-sources.ts'
import type { CostLine } from '../cost/rows.ts'
import type { Fix, FixFirst } from './shape.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PagesParts } from '../../../console/ports.ts'

const days = 7
/** Jobs whose prices are read, the most expensive. */
const maxPriced = 500
const maxFixes = 8
/** What costs less in a week is not worth a line. */
const minMs = 60_000
/** After this time it is read again, ms; until then, and while it is read, what was read before is shown. */
const freshFor = 60_000
/** What is older than this, ms, is not shown. */
const usableFor = 600_000

/** The unit of prices; undefined without a price table. */
export interface PriceUnit {
  readonly unit: string | undefined
}

export function createFixFirst(parts: PagesParts, prices: PriceUnit | undefined): () => Promise<FixFirst> {
  let known: { readonly at: Millis; readonly view: FixFirst } | undefined
  let reading: Promise<FixFirst> | undefined
  const read = async (): Promise<FixFirst> => {
    const at = parts.now()
    try {
      const view = await readFixFirst(parts, prices, at)
      known = { at, view }
      return view
    } finally {
      reading = undefined
    }
  }
  return async () => {
    const age = known === undefined ? Infinity : Math.abs(parts.now() - known.at)
    if (known !== undefined && age < freshFor) return known.view
    reading ??= read()
    if (known === undefined || age >= usableFor) return reading
    // Whoever waits for it next gets the error.
    reading.catch(() => undefined)
    return known.view
  }
}

async function readFixFirst(parts: PagesParts, prices: PriceUnit | undefined, now: Millis): Promise<FixFirst> {
  const until = now - (now % day) + day
  const since = until - days * day
  const [found, rateOf] = await Promise.all([
    Promise.all(
      [...ownSources, ...fixSources.of(parts)].map(async ({ kind, read }) =>
        (await read(parts, since, until)).map(one => ({ kind, ...one })),
      ),
    ),
    prices && ratesIn(parts, since, until),
  ])
  return { since, ...prices, fixes: ranked(found.flat(), rateOf) }
}

/** The cost of a ms of a job. */
type RateOf = (of: NonNullable<FoundFix['of']>) => number

/** That of the job, else the average of all jobs. */
async function ratesIn(parts: PagesParts, since: Millis, until: Millis): Promise<RateOf | undefined> {
  const costs = costsIn(parts)
  const [byJob, [total]] = await Promise.all([
    costs.lines('job', { since, until }, maxPriced),
    costs.lines('total', { since, until }, 1),
  ])
  if (total === undefined) return undefined
  const rate = ({ cost, totalMs }: CostLine): number => (totalMs === 0 ? 0 : cost / totalMs)
  const rates = new Map(byJob.map(line => [`${line.projectId} ${line.name}`, rate(line)]))
  return ({ projectId, job }) => rates.get(`${projectId} ${job}`) ?? rate(total)
}

/** The most expensive first. `rateOf`: undefined without prices. */
export function ranked(all: readonly (FoundFix & Pick<Fix, 'kind'>)[], rateOf: RateOf | undefined): Fix[] {
  return all
    .filter(({ weekMs }) => weekMs >= minMs)
    .sort((a, b) => b.weekMs - a.weekMs)
    .slice(0, maxFixes)
    .map(({ of, cost, ...fix }) => {
      const price = rateOf && (of === undefined ? cost : fix.weekMs * rateOf(of))
      return { ...fix, weekMs: Math.round(fix.weekMs), ...(price !== undefined && { cost: price }) }
    })
}
