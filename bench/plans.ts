// Generates plans for the pipelines of a typical company from a seed: the number of jobs, their names, their durations and their results.
import { Random } from '../src/simulator/platform/random.ts'

export interface Plan {
  readonly project: { readonly id: number; readonly group: string; readonly name: string }
  readonly user: { readonly id: number; readonly username: string; readonly name: string }
  readonly ref: string
  readonly sha: string
  readonly source: string
  readonly title: string
  readonly status: 'success' | 'failed'
  readonly jobs: readonly PlannedJob[]
}

export interface PlannedJob {
  readonly name: string
  readonly stage: string
  readonly status: 'success' | 'failed'
  /** When the job starts, in seconds after the pipeline was created. */
  readonly startedAt: number
  readonly finishedAt: number
  /** Duration of the job in seconds, including the fraction that the platform reports. */
  readonly duration: number
  readonly queued: number
  readonly runner: number
  readonly deploys: boolean
}

/**
 * The distribution of the number of jobs per pipeline: most pipelines are small, a few are very large. Each entry has a share of the pipelines, and
 * the minimum and maximum number of jobs in them.
 */
const sizes = {
  small: [{ share: 1, from: 1, to: 13 }],
  twenty: [{ share: 1, from: 20, to: 20 }],
  twoHundred: [{ share: 1, from: 200, to: 200 }],
  company: [
    { share: 0.7, from: 1, to: 13 },
    { share: 0.25, from: 14, to: 40 },
    { share: 0.045, from: 100, to: 300 },
    { share: 0.005, from: 1_000, to: 5_000 },
  ],
} as const

export type Mix = keyof typeof sizes

/** The number of jobs in the next pipeline of the mix: 1 to 5,000. */
export function jobsOf(mix: Mix, random: Random): number {
  let left = random.next()
  const size = sizes[mix].find(({ share }) => (left -= share) < 0) ?? sizes[mix][0]
  return random.whole(size.from, size.to)
}

/** Generates pipeline plans. The same seed always gives the same plans. */
export function plansOf(mix: Mix, count: number, seed = 1): Plan[] {
  const random = new Random(seed)
  return Array.from({ length: count }, () => planOf(jobsOf(mix, random), random))
}

const groups = ['shop', 'mobile', 'platform', 'data', 'payments'] as const
const services = ['checkout', 'search', 'catalog', 'worker', 'gateway', 'invoice', 'session', 'storage'] as const
const refs = ['main', 'main', 'main', 'feature/gift-cards', 'fix/rounding', 'release/26.11'] as const
const sources = ['push', 'push', 'merge_request_event', 'schedule', 'web'] as const
const people = ['Ada Example', 'Jonas Lindqvist', 'Mei Tanaka', 'Rui Duarte', 'Amina Okafor', 'Sofie Lambert'] as const
const titles = [
  'Take the discount into account',
  'Round prices once, at the end of it',
  'Cache the tree of the categories',
  'Upgrade the client for payments',
] as const
const stages = ['build', 'test', 'deploy'] as const
const tasks = ['compile', 'unit tests', 'lint', 'end to end', 'image', 'coverage', 'licences', 'typecheck'] as const

export function planOf(jobs: number, random: Random): Plan {
  const group = random.whole(0, groups.length - 1)
  const service = random.whole(0, services.length - 1)
  const person = random.whole(0, people.length - 1)
  const fails = random.chance(0.12)
  return {
    project: {
      id: 4_700 + group * services.length + service,
      group: groups[group] ?? groups[0],
      name: services[service] ?? services[0],
    },
    user: { id: 1 + person, name: people[person] ?? people[0], username: `user-${person + 1}` },
    ref: random.pick(refs),
    sha: random.hex(40),
    source: random.pick(sources),
    title: random.pick(titles),
    status: fails ? 'failed' : 'success',
    jobs: Array.from({ length: jobs }, (_, job) => jobOf(job, jobs, fails && job === jobs - 1, service, random)),
  }
}

function jobOf(job: number, jobs: number, fails: boolean, service: number, random: Random): PlannedJob {
  const stage = stages[Math.floor((job * stages.length) / jobs)] ?? stages[0]
  const startedAt = 10 + Math.floor((job * 500) / jobs)
  const took = random.between(20, 90)
  return {
    // The jobs of a project have the same names in all its pipelines.
    name: `${tasks[(job + service) % tasks.length] ?? tasks[0]} of part ${job}`,
    stage,
    status: fails ? 'failed' : 'success',
    startedAt,
    finishedAt: startedAt + Math.floor(took),
    duration: Math.round(took * 1e6) / 1e6,
    queued: Math.round(random.between(0.5, 12) * 1e6) / 1e6,
    runner: 380_000 + random.whole(0, 40),
    deploys: stage === 'deploy' && random.chance(0.3),
  }
}
