// Reads what to fix first from the figures of the last week, and keeps it for a while: the overview is rendered every second.
import { day } from '../../core/store/ports/trends.ts'
import { fixesOf, type FixSources } from './fix-first.ts'
import type { FixFirst } from './fix-first-shape.ts'
import type { CostLine } from '../../core/store/ports/costs.ts'
import type { Millis } from '../../model/instant.ts'
import { fixSources } from './fix-source.ts'
import type { PagesParts, PagesSettings, PagesSources } from '../ports.ts'

const days = 7
/** How many jobs, tests and projects are read, the most expensive of each. */
const maxRead = { failing: 50, flaky: 20, costs: 500 }
const maxFixes = 8
/** After this time it is read again, ms; until then, and while it is read, what was read before is shown. */
const freshFor = 60_000
/** What is older than this, ms, is not shown. */
const usableFor = 600_000

type Sources = PagesSources & Pick<PagesParts, 'runners' | 'fillings'>
type Settings = Pick<PagesSettings, 'costUnit' | 'hasPrices'>

export function createFixFirst(parts: Sources, settings: Settings): () => Promise<FixFirst> {
  let known: { readonly at: Millis; readonly view: FixFirst } | undefined
  let reading: Promise<FixFirst> | undefined
  const read = async (): Promise<FixFirst> => {
    const at = parts.now()
    try {
      const view = await readFixFirst(parts, settings, at)
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

async function readFixFirst(parts: Sources, { costUnit, hasPrices }: Settings, now: Millis): Promise<FixFirst> {
  const { trends, costs } = parts.views
  const until = now - (now % day) + day
  const since = until - days * day
  const query = { step: day, since, until } as const
  const [jobs, flaky, runners, projects, found, byJob, [total]] = await Promise.all([
    trends.jobs('failing', query, maxRead.failing),
    parts.tests.figures('flaky', { since, limit: maxRead.flaky }),
    parts.runners(),
    costs.lines('project', query, maxRead.costs),
    Promise.all(
      fixSources
        .of(parts)
        .map(async ({ kind, read }) => (await read(parts, since, until)).map(one => ({ kind, ...one }))),
    ),
    hasPrices === true ? costs.lines('job', query, maxRead.costs) : [],
    hasPrices === true ? costs.lines('total', query, 1) : [],
  ])
  const rateOf = total === undefined ? undefined : ratesOf(byJob, total)
  return {
    since,
    ...(hasPrices === true && { unit: costUnit }),
    fixes: fixesOf({ jobs, flaky, runners, projects, others: found.flat(), rateOf }, maxFixes),
  }
}

/** That of the job, else the average of all jobs. */
function ratesOf(byJob: readonly CostLine[], total: CostLine): FixSources['rateOf'] {
  const rate = ({ cost, totalMs }: CostLine): number => (totalMs === 0 ? 0 : cost / totalMs)
  const rates = new Map(byJob.map(line => [`${line.projectId} ${line.name}`, rate(line)]))
  return (projectId, job) => rates.get(`${projectId} ${job}`) ?? rate(total)
}
