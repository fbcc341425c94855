// The list of what to fix first, and its card on the overview. The list ranks fixable problems by the time they cost in the last week. This file
// itself finds jobs that always fail and superseded pipelines. Features add other problems.
import { addressWith, linkedInstance } from '../../../console/layout/address.ts'
import { amount } from '../cost/tables.ts'
import { card, type RequestContext } from '../../../console/layout/frame.ts'
import { costsIn } from '../cost/sql.ts'
import { day, isBroken, type TrendTotal } from '../counting/figures.ts'
import { duration, figure, number } from '../../../console/layout/format.ts'
import { fixSources, type FixSource, type FoundFix } from '../../../console/overview/overview-shape.ts'
import { html, pathText, type Content, type Html } from '../../../console/layout/html.ts'
import { millis, ms, type Shaped } from '../../../console/layout/shape.ts'
import { sharedAnswer } from '../../../lib/shared-answer.ts'
import { trendsIn } from '../reading/sql.ts'
import { z } from 'zod'
import type { CostLine } from '../cost/shape.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PagesParts } from '../../../console/ports.ts'

const fixShape = z.object({
  kind: z
    .string()
    .describe(
      '`failing`: a job that always fails. `wait`: jobs that wait for a runner with these tags. `flaky_test`, `superseded`, and kinds that features add.',
    ),
  subject: z.string(),
  project: z.string().optional().describe('Full path; absent for waits, which several projects share.'),
  weekMs: ms.describe('Time that the problem costs per week, in ms.'),
  cost: z
    .number()
    .optional()
    .describe('Cost per week in the currency unit; absent without a price table, and for waits.'),
  why: z.string(),
  path: z.string().describe('Path of the page with details.'),
})
export type Fix = Shaped<typeof fixShape>

export const fixFirstShape = z.object({
  since: millis,
  unit: z.string().optional().describe('Currency unit; absent without a price table.'),
  fixes: z.array(fixShape).describe('The most expensive first.'),
})
export type FixFirst = Shaped<typeof fixFirstShape>

const days = 7
/** The maximum number of jobs whose cost rates are read, the most expensive first. */
const maxPriced = 500
const maxFixes = 8
/** The minimum time a problem must cost per week to be listed, ms. */
const minMs = 60_000
/** How long the list is cached, ms. It is cached because the overview is rendered every second. */
const cacheMs = 60_000

/** The price unit; undefined without a price table. */
export interface PriceUnit {
  readonly unit: string | undefined
}

export function createFixFirst(parts: PagesParts, prices: PriceUnit | undefined): () => Promise<FixFirst> {
  return sharedAnswer(cacheMs, parts.now, async now => readFixFirst(parts, prices, now))
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

/** Returns a job's cost per millisecond. */
type RateOf = (of: NonNullable<FoundFix['of']>) => number

/** Reads each job's cost rate. A job without its own rate gets the average of all jobs. */
async function ratesIn(parts: PagesParts, since: Millis, until: Millis): Promise<RateOf | undefined> {
  const costs = costsIn(parts)
  const [byJob, [total]] = await Promise.all([
    costs.lines('job', { since, until }, maxPriced),
    costs.lines('total', { since, until }, 1),
  ])
  if (total === undefined) return undefined
  const rate = ({ cost, totalMs }: CostLine): number => (totalMs === 0 ? 0 : cost / totalMs)
  const rates = new Map(byJob.map(line => [`${line.projectId} ${line.instance} ${line.name}`, rate(line)]))
  return ({ instance, projectId, job }) => rates.get(`${projectId} ${instance} ${job}`) ?? rate(total)
}

/** Returns the problems to fix, the most expensive first. `rateOf` is undefined without prices. */
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

/** The maximum number of rows to read: the jobs with the most failures, those that always fail, and the most expensive projects. */
const maxRead = { failing: 50, projects: 500 }

export const ownSources: readonly FixSource[] = [
  {
    kind: 'failing',
    read: async (parts, since, until) => {
      // Jobs with many runs may have the most failures although they rarely fail, so the jobs that always fail are also read by themselves. That
      // alone is not enough: the store selects them by project ID and name, so a job of another platform may hide one.
      const orders = ['failing', 'broken'] as const
      const found = await Promise.all(
        orders.map(async by => trendsIn(parts).jobs(by, { step: day, since, until }, maxRead.failing)),
      )
      const byName = new Map(found.flat().map(one => [`${one.projectId} ${one.instance} ${one.job}`, one]))
      const jobs = [...byName.values()].filter(isBroken)
      const instanceOf = linkedInstance(jobs)
      return jobs.map(job => failingJob(job, instanceOf(job)))
    },
  },
  {
    kind: 'superseded',
    read: async (parts, since, until) => {
      const projects = await costsIn(parts).lines('project', { since, until }, maxRead.projects)
      const instanceOf = linkedInstance(projects)
      return projects.map(({ instance, projectId, project, wasted: { superseded } }) => ({
        ...{ subject: 'Superseded pipelines', project, weekMs: superseded.totalMs, cost: superseded.cost },
        why: 'Jobs ran for pipelines that were canceled because their branch had a newer pipeline.',
        path: addressWith('/cost', { instance: instanceOf({ instance }), project: projectId }),
      }))
    },
  },
]

function failingJob(
  { instance, projectId, project, job, runs, failed, totalMs }: TrendTotal,
  linked: string | undefined,
): FoundFix {
  return {
    ...{ subject: job, project, of: { instance, projectId, job }, weekMs: (totalMs * failed) / runs },
    why: `Failed in ${failed === runs ? `all ${number(runs)}` : `${number(failed)} of ${number(runs)}`} runs.`,
    path: addressWith('/trends', { instance: linked, project: projectId, job }),
  }
}

/** Renders the “fix first” card; empty if there is nothing to list. */
export function fixFirstCard({ fixes, unit }: FixFirst, { base }: Pick<RequestContext, 'base'>): Content {
  if (fixes.length === 0) return ''
  return card(
    'Fix first',
    html`<ol class="plain-list">
      ${fixes.map(fix => fixRow(fix, unit, base))}
    </ol>`,
    { aside: 'what costs most per week' },
  )
}

function fixRow(
  { kind, subject, project, weekMs, cost, why, path }: Fix,
  unit: string | undefined,
  base: string,
): Html {
  return html`<li class="pair">
    <span class="name"
      ><span class="tag">${kindWords[kind] ?? kind.replaceAll('_', ' ')}</span>
      <a href="${base}${path}"><strong>${subject}</strong></a
      >${project !== undefined && html` <span class="dim">${pathText(project)}</span>`}<br /><span class="dim"
        >${why}</span
      ></span
    >
    <span class="right"
      >${figure(duration(weekMs))}${cost !== undefined && unit !== undefined && html`<br />${figure(amount({ totalMs: weekMs, cost }, unit))}`}</span
    >
  </li>`
}

const kindWords: Readonly<Record<string, string>> = { failing: 'always fails', wait: 'waits for runners' }
