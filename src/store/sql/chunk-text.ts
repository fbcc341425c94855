// How a chunk is stored: as JSON in which each job is a row of values without names, and runners, people and tags that recur are written once. It
// takes half of the bytes of JSON with names, so a page of SQLite has two chunks of twenty jobs (decision 12).
import type { Chunk, JobSnapshot } from '../../model/chunk.ts'
import type { Person, Runner } from '../../model/observation.ts'

/**
 * Each field's place in a row. Places are stored: a new field gets the next one, and none is ever used for anything else. What most jobs have comes
 * first, because places at the end that are empty are not stored. `user`, `runner` and the tags are stored as indexes of the lists beside the rows;
 * `start` and `end` are empty where they are the times at which the job started and finished.
 */
const jobPlaces: Readonly<Record<keyof JobSnapshot, number>> = {
  ...{ id: 0, kind: 1, status: 2, name: 3, stage: 4, createdAt: 5, startedAt: 6, finishedAt: 7, start: 8, end: 9 },
  ...{ duration: 10, queuedDuration: 11, retried: 12, manual: 13, allowFailure: 14, when: 15, user: 16, runner: 17 },
  ...{ slack: 18, artifacts: 19, critical: 20, url: 21, failureReason: 22, coverage: 23, environment: 24, tags: 25 },
  ...{ artifactSizes: 26, downstream: 27, rate: 28, cost: 29, deploymentId: 30, salt: 31 },
}
const runnerPlaces: Readonly<Record<keyof Runner, number>> = {
  ...{ id: 0, description: 1, type: 2, active: 3, isShared: 4, tags: 5 },
}

const jobFields = fieldsOf(jobPlaces)
const runnerFields = fieldsOf(runnerPlaces)

/** Undefined, or null once it is stored: the object has no such field. */
type StoredRow = unknown[]

interface StoredJobs {
  readonly rows: readonly StoredRow[]
  readonly people: readonly Person[]
  readonly runners: readonly StoredRow[]
  readonly tags: readonly (readonly string[])[]
}

export function chunkText(chunk: Chunk): string {
  return JSON.stringify({ ...chunk, jobs: storedJobs(chunk.jobs) })
}

function storedJobs(jobs: readonly JobSnapshot[]): StoredJobs {
  // People and runners that recur are the same objects (`model/recurring.ts`); equal lists of tags are different ones.
  const [people, runners] = [new Distinct<Person>(one => one), new Distinct<Runner>(one => one)]
  const tags = new Distinct<readonly string[]>(JSON.stringify)
  const rows = jobs.map(job => {
    // In the order of `jobPlaces`. Fields that are read by names from a list, or lists in a list, take half as long again.
    // prettier-ignore
    return shortened([
      job.id, job.kind, job.status, job.name, job.stage, job.createdAt, job.startedAt, job.finishedAt,
      job.start === job.startedAt ? undefined : job.start, job.end === job.finishedAt ? undefined : job.end,
      job.duration, job.queuedDuration, job.retried, job.manual, job.allowFailure, job.when,
      job.user && people.index(job.user), job.runner && runners.index(job.runner),
      job.slack, job.artifacts, job.critical, job.url, job.failureReason, job.coverage, job.environment,
      job.tags && tags.index(job.tags), job.artifactSizes, job.downstream, job.rate, job.cost, job.deploymentId, job.salt,
    ])
  })
  const rowsOfRunners = runners.all.map(({ id, description, type, active, isShared, tags: words }) =>
    shortened([id, description, type, active, isShared, words && tags.index(words)]),
  )
  return { rows, people: people.all, runners: rowsOfRunners, tags: tags.all }
}

/** The jobs of a stored chunk; undefined if they are damaged. Those with equal runners and people share them. */
export function jobsOfText(stored: unknown): JobSnapshot[] | undefined {
  const { rows, people, runners, tags } = (stored ?? {}) as Partial<Record<keyof StoredJobs, unknown>>
  if (!isListOfRows(rows) || !Array.isArray(people) || !isListOfRows(runners) || !Array.isArray(tags)) return undefined
  const known = runners.map(row => objectOf(row, runnerFields, { tags }))
  const lists = { user: people, runner: known, tags }
  return rows.map(row => {
    const job = objectOf(row, jobFields, lists)
    job.start ??= job.startedAt
    job.end ??= job.finishedAt
    return job as unknown as JobSnapshot
  })
}

function fieldsOf(places: Readonly<Record<string, number>>): readonly string[] {
  const fields: string[] = []
  for (const [field, place] of Object.entries(places)) fields[place] = field
  return fields
}

/** Without the empty places at its end. */
function shortened(row: StoredRow): StoredRow {
  let length = row.length
  while (row[length - 1] === undefined && length > 0) length -= 1
  row.length = length
  return row
}

/** Fields are set one by one, because V8 turns an object that gets many at once into a dictionary. */
function objectOf(
  row: StoredRow,
  fields: readonly string[],
  lists: Readonly<Record<string, readonly unknown[]>>,
): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  for (let place = 0; place < row.length; place += 1) {
    const [value, field] = [row[place], fields[place]]
    if (value === null || field === undefined) continue
    const list = lists[field]
    object[field] = list === undefined ? value : list[value as number]
  }
  return object
}

function isListOfRows(value: unknown): value is StoredRow[] {
  return Array.isArray(value) && value.every(Array.isArray)
}

/** `nameOf`: equal for those that are written once. */
class Distinct<T> {
  readonly all: T[] = []
  readonly #places = new Map<unknown, number>()
  readonly #nameOf: (one: T) => unknown

  constructor(nameOf: (one: T) => unknown) {
    this.#nameOf = nameOf
  }

  index(one: T): number {
    const name = this.#nameOf(one)
    const known = this.#places.get(name)
    if (known !== undefined) return known
    this.#places.set(name, this.all.length)
    return this.all.push(one) - 1
  }
}
