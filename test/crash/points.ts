// The table of points at which a daemon can be killed. The tests read it, and so does the process that is to be killed (`kill-switch.ts`).

/** An event in the process, as the kill switch observes it from outside. */
export type Event =
  /**
   * A transaction is committed. `changes`: its operations and their tables, such as `insert runs`. `values`: its short parameters, and the string
   * literals in its statements.
   */
  | { readonly kind: 'commit'; readonly changes: ReadonlySet<string>; readonly values: ReadonlySet<string> }
  /** The daemon responds to a webhook. */
  | { readonly kind: 'answer'; readonly status: number }
  /** A request to the backend is about to be sent. */
  | { readonly kind: 'request' }
  /** The backend responds. The moment before is just before the daemon receives the response, the moment after just after that. */
  | { readonly kind: 'verdict'; readonly status: number }

export type Engine = 'sqlite' | 'postgres'

export interface Point {
  /** Describes the event, such as a commit. */
  readonly name: string
  readonly engines: readonly Engine[]
  readonly isAt: (event: Event) => boolean
  /** True if a process reaches this point only on an empty store. */
  readonly first?: true
  /** The test must provide this for the daemon to reach the point. */
  readonly needs?: 'a refused pipeline' | 'an overloaded backend' | 'a short retention'
}

const both: readonly Engine[] = ['sqlite', 'postgres']

type Commit = Extract<Event, { kind: 'commit' }>

/** Returns the point at which the daemon commits a transaction that makes all of these changes and for which `holds` is true. */
function commit(name: string, changes: readonly string[], holds: (commit: Commit) => boolean = () => true): Point {
  return {
    name: `commit: ${name}`,
    engines: both,
    isAt: event => event.kind === 'commit' && changes.every(change => event.changes.has(change)) && holds(event),
  }
}

function answer(name: string, status: number): Point {
  return { name: `answer: ${name}`, engines: both, isAt: event => event.kind === 'answer' && event.status === status }
}

function verdict(name: string, status: number): Point {
  return { name: `verdict: ${name}`, engines: both, isAt: event => event.kind === 'verdict' && event.status === status }
}

/** Returns a condition: the transaction changes only these tables. */
const onlyIn =
  (...tables: readonly string[]) =>
  ({ changes }: Commit): boolean =>
    [...changes].every(change => tables.includes(change.split(' ')[1] ?? ''))
/** True if the transaction is not maintenance. Maintenance updates `tombstones` together with other tables. */
const isNotOfMaintenance = ({ changes }: Commit): boolean => !changes.has('update tombstones')
/**
 * True for a transaction that stores a snapshot. Unlike transactions that store job internals or events, it inserts nothing into the table `chunks`.
 */
const isOfSnapshot = ({ changes }: Commit): boolean => !changes.has('insert chunks')
/** Returns a condition: the transaction stores this outcome of exports. The outcome is part of one of the transaction's values. */
const settles =
  (word: string) =>
  (made: Commit): boolean =>
    made.changes.has('update outbox') &&
    !made.changes.has('insert outbox') &&
    isNotOfMaintenance(made) &&
    [...made.values].some(value => value.includes(word))

/** The points at which the daemon can be killed, in the order of the flow. A kill can come just before or just after each point. */
export const points: readonly Point[] = [
  { ...commit('create the schema', ['create runs']), first: true },
  {
    ...commit('release the leases of a dead process', ['update outbox', 'update enrichment_queue'], isNotOfMaintenance),
    engines: ['sqlite'],
  },
  commit('take in deliveries that change runs', ['insert delivery_keys', 'insert runs']),
  answer('accepted', 202),
  answer('duplicate', 200),
  commit('quarantine an undecodable delivery', ['insert quarantined_deliveries']),
  // On SQLite, leases of runs and exports exist only in memory, so that there is no transaction for them.
  { ...commit('lease runs to settle', ['update runs'], onlyIn('runs')), engines: ['postgres'] },
  commit('store a snapshot and its outbox entries', ['insert messages', 'insert outbox'], isOfSnapshot),
  {
    ...commit('lease exports', ['update outbox'], made => onlyIn('outbox')(made) && !made.values.has('dead')),
    engines: ['postgres'],
  },
  { name: 'request: to the backend', engines: both, isAt: event => event.kind === 'request' },
  verdict('delivered', 200),
  commit('settle exports as delivered', ['delete outbox', 'delete messages'], made => !made.values.has('dead')),
  { ...verdict('later', 503), needs: 'an overloaded backend' },
  { ...commit('defer exports', [], settles('503')), needs: 'an overloaded backend' },
  { ...verdict('refused', 400), needs: 'a refused pipeline' },
  { ...commit('store a dead letter', [], settles('dead')), needs: 'a refused pipeline' },
  { ...commit('prune a delivered run', ['delete runs', 'insert tombstones']), needs: 'a short retention' },
]

/** The points at which the daemon can be killed while it reads job internals, in the order of the flow. */
export const insidePoints: readonly Point[] = [
  commit('queue the reading of job internals with their snapshot', ['insert messages', 'insert job_reads']),
  commit(
    'queue the reading of job internals after their snapshot, with late details',
    ['update runs', 'insert job_reads'],
    ({ changes }) => !changes.has('insert messages'),
  ),
  commit('lease job internals to read', ['update job_reads'], onlyIn('job_reads')),
  commit('store a test report', ['insert test_reports']),
  commit('store the names in a metrics report', ['insert key_value'], ({ values }) =>
    [...values].some(value => value.startsWith('reported-names ')),
  ),
  commit('put job internals into the outbox', ['insert chunks', 'insert outbox', 'delete job_reads']),
]

/** The points at which the daemon can be killed while it counts deployments and incidents. These are counted separately from pipelines. */
export const countedPoints: readonly Point[] = [
  commit('store a deployment with the key of its delivery', ['insert deployments', 'insert delivery_keys']),
  commit('count a deployment in the additions to totals', ['update deployments', 'insert totals_added']),
  commit('count an incident in the additions to totals', ['update incidents', 'insert totals_added']),
  commit('fold the additions into the totals', ['delete totals_added', 'insert totals']),
]

/** The points at which the daemon can be killed while it sends a notification to people. */
export const messagePoints: readonly Point[] = [
  commit('put a notification into the outbox', [
    ...['update runs', 'insert key_value', 'insert events', 'insert outbox'],
  ]),
  ...points.filter(({ name }) =>
    ['request: to the backend', 'verdict: delivered', 'commit: settle exports as delivered'].includes(name),
  ),
]

export interface Moment {
  readonly point: Point
  readonly side: 'before' | 'after'
}

/** Returns the moments before and after each of these points on this database engine, in the order of the points. */
export function momentsOn(engine: Engine, of: readonly Point[] = points): Moment[] {
  return of
    .filter(({ engines }) => engines.includes(engine))
    .flatMap(point => (['before', 'after'] as const).map(side => ({ point, side })))
}

export function nameOf({ point, side }: Moment): string {
  return `${side} ${point.name}`
}
