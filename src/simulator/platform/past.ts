// The simulated company's past two months, so that the pages show usual durations, an earlier period for comparison, and a regression. Each kind of
// pipeline makes up the same share as in the present, so that the past differs only where this file changes it. The demo's last hour has many more
// pipelines than an average hour of its past. Therefore the past contains such an hour as well, 30 days earlier, so that 30-day totals are
// comparable.
import { demoScenarios, scenarios } from './scenarios.ts'
import { deliveryOf, type Delivery } from './delivery.ts'
import { figures, users } from './world.ts'
import { isOver, type PlatformState, type JobPlan, type PipelinePlan } from './state.ts'
import { Lifecycle } from './lifecycle.ts'
import { Random } from './random.ts'
import { Timeline } from './timeline.ts'

const hour = 3_600_000
const day = 24 * hour

/**
 * The number of past pipelines is as small as possible, because each one delays the start of the demo. There are two periods of 30 days. The first
 * pipeline is from the day before these periods, because trends count whole days.
 */
const past = { days: 61, every: 20 * hour, recent: 30 * day }
/** The pipelines of the project `figures`: one a day, and `perDay` a day during the last `days` days. The last `slow` pipelines are slow. */
const figuresHistory = { days: 12, perDay: 3, slow: 8 }

/**
 * How long these jobs took until 30 days ago, relative to today. None of them has become slow enough for a rule to flag it, because the only
 * regression is in the project `figures`.
 */
const pastDurationFactors: Readonly<Record<string, number>> = {
  'integration tests': 1.45,
  image: 1.25,
  'build android': 1.3,
  'unit tests 1/3': 0.78,
  'unit tests 2/3': 0.78,
  'unit tests 3/3': 0.78,
}

interface PastOptions {
  readonly state: PlatformState
  readonly instance: string
  /** When the past ends, in Unix ms. */
  readonly until: number
  /** The time between two pipelines in the hour that follows the past, in ms. */
  readonly busyEvery: number
}

/** Returns the webhooks that report the final end of each past pipeline, in order. They are generated independently of the rest of the simulation. */
export function playPast({ state, instance, until, busyEvery }: PastOptions): Delivery[] {
  const random = new Random(4)
  const start = until - past.days * day
  const timeline = new Timeline(start)
  const ends = new Map<number, Delivery>()
  const lifecycle = new Lifecycle(state, timeline, random, news => {
    if (news.kind === 'job' || !isOver(news.pipeline.status)) return
    // If a pipeline is retried, it ends more than once. Only the end of its last attempt counts.
    ends.delete(news.pipeline.id)
    ends.set(news.pipeline.id, deliveryOf(news, { instance, newest: true }, random))
  })
  for (const { at, plan } of planned(start, until, busyEvery, random)) {
    timeline.after((at - start) / 1_000, () => lifecycle.create(plan))
  }
  timeline.runUntil(until)
  return [...ends.values()]
}

interface Planned {
  readonly at: number
  readonly plan: PipelinePlan
}

function planned(start: number, until: number, busyEvery: number, random: Random): Planned[] {
  const mixedAt = (at: number, count: number): Planned => {
    const name = demoScenarios[count % demoScenarios.length] ?? demoScenarios[0]
    const plan = scenarios[name](random)
    return { at, plan: at < until - past.recent + hour ? withPastDurations(plan) : plan }
  }
  const mixed = Array.from({ length: Math.floor((past.days * day) / past.every) }, (_, count) =>
    mixedAt(start + count * past.every + random.whole(0, hour), count),
  )
  const busy = Array.from({ length: Math.floor(hour / busyEvery) }, (_, count) =>
    mixedAt(until - past.recent + count * busyEvery, count),
  )
  const daily = Array.from({ length: past.days - figuresHistory.days }, (_, count) => start + count * day)
  const runs = figuresHistory.days * figuresHistory.perDay
  const recent = Array.from({ length: runs }, (_, count) => until - (runs - count) * (day / figuresHistory.perDay))
  const ofFigures = [...daily, ...recent].map((at, count, all): Planned => {
    return { at, plan: figuresPlan(count >= all.length - figuresHistory.slow) }
  })
  return [...mixed, ...busy, ...ofFigures]
}

/** Returns the plan with the durations that its jobs had in the past. */
function withPastDurations(plan: PipelinePlan): PipelinePlan {
  const jobs = plan.jobs.map((job): JobPlan => {
    const [least, most] = job.seconds
    const factor = pastDurationFactors[job.name] ?? 1
    return { ...job, seconds: [least * factor, most * factor] }
  })
  return { ...plan, jobs }
}

/** Returns the plan of a pipeline of the project `figures`. If `isSlow` is set, its job lacks the tag of the large runner, so the pipeline is slow. */
function figuresPlan(isSlow: boolean): PipelinePlan {
  return {
    project: figures,
    source: 'push',
    name: 'Figures',
    ref: figures.defaultBranch,
    user: users[isSlow ? 3 : 2] ?? users[0],
    commitMessage: isSlow ? 'Any runner will do' : 'Count returns, too',
    stages: ['build', 'test', 'deploy'],
    jobs: [
      { name: 'load', stage: 'build', seconds: [55, 70], tags: ['linux', 'docker'] },
      {
        ...{ name: 'aggregate', stage: 'test', seconds: isSlow ? [520, 600] : [210, 260] },
        tags: isSlow ? ['linux', 'docker'] : ['large'],
      },
      { name: 'render', stage: 'deploy', seconds: [20, 30], tags: ['linux', 'docker'] },
    ],
  }
}
