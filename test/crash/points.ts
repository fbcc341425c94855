// The table of moments at which a daemon can be killed. It is read by the tests, and by the process that is to be killed (`kill-switch.ts`).

/** An event in the process, as the kill switch observes it from outside. */
export type Event =
  /**
   * A transaction is committed. `changes`: what it does to which table, such as `insert runs`. `values`: its short values, and the words in its
   * statements.
   */
  | { readonly kind: 'commit'; readonly changes: ReadonlySet<string>; readonly values: ReadonlySet<string> }
  /** The daemon responds to a webhook. */
  | { readonly kind: 'answer'; readonly status: number }
  /** A request to the backend is about to be sent. */
  | { readonly kind: 'request' }
  /** The backend responds. The moments are just before and just after the daemon receives the response. */
  | { readonly kind: 'verdict'; readonly status: number }

export type Engine = 'sqlite' | 'postgres'

export interface Point {
  /** The name of the event that is about to happen or has just happened. */
  readonly name: string
  readonly engines: readonly Engine[]
  readonly isAt: (event: Event) => boolean
  /** True if the daemon reaches this point only on an empty store, at the beginning of its life. */
  readonly first?: true
  /** The condition that must hold for a daemon to reach this crash point. */
  readonly needs?: 'a refused pipeline' | 'an overloaded backend' | 'a short retention'
}

const both: readonly Engine[] = ['sqlite', 'postgres']

type Commit = Extract<Event, { kind: 'commit' }>

/** Returns a point at which the daemon can be killed: a transaction that makes all of these changes and for which `holds` is true. */
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

/** True if the transaction changes nothing but these tables. */
const onlyIn =
  (...tables: readonly string[]) =>
  ({ changes }: Commit): boolean =>
    [...changes].every(change => tables.includes(change.split(' ')[1] ?? ''))
/** True if the transaction is not part of maintenance. Maintenance changes `tombstones` together with other tables. */
const isNotOfMaintenance = ({ changes }: Commit): boolean => !changes.has('update tombstones')
/** True for a snapshot's transaction. Unlike transactions that store job internals or events, it inserts nothing into the table `chunks`. */
const isOfSnapshot = ({ changes }: Commit): boolean => !changes.has('insert chunks')
/**
 * Returns a condition that is true for transactions that store the given outcome of exports. The outcome is a word among the transaction's values.
 */
const settles =
  (word: string) =>
  (made: Commit): boolean =>
    made.changes.has('update outbox') &&
    !made.changes.has('insert outbox') &&
    isNotOfMaintenance(made) &&
    [...made.values].some(value => value.includes(word))

/** The points at which the daemon can be killed, in the order of the flow. Each one has a moment before it and one after it. */
export const points: readonly Point[] = [
  { ...commit('the schema made', ['create runs']), first: true },
  {
    ...commit(
      'what a dead process had leased given back',
      ['update outbox', 'update enrichment_queue'],
      isNotOfMaintenance,
    ),
    engines: ['sqlite'],
  },
  commit('deliveries taken in, with news in their runs', ['insert delivery_keys', 'insert runs']),
  answer('accepted', 202),
  answer('known already', 200),
  commit('a delivery that cannot be decoded quarantined', ['insert quarantined_deliveries']),
  // On SQLite, the runs that are being settled are recorded only in process memory, as are exports.
  { ...commit('runs taken to be settled', ['update runs'], onlyIn('runs')), engines: ['postgres'] },
  commit('a run in a snapshot and in the outbox', ['insert messages', 'insert outbox'], isOfSnapshot),
  {
    ...commit('exports leased', ['update outbox'], made => onlyIn('outbox')(made) && !made.values.has('dead')),
    engines: ['postgres'],
  },
  { name: 'request: to the backend', engines: both, isAt: event => event.kind === 'request' },
  verdict('delivered', 200),
  commit('exports settled as delivered', ['delete outbox', 'delete messages'], made => !made.values.has('dead')),
  { ...verdict('later', 503), needs: 'an overloaded backend' },
  { ...commit('exports put off', [], settles('503')), needs: 'an overloaded backend' },
  { ...verdict('refused', 400), needs: 'a refused pipeline' },
  { ...commit('a dead letter', [], settles('dead')), needs: 'a refused pipeline' },
  { ...commit('a delivered run pruned', ['delete runs', 'insert tombstones']), needs: 'a short retention' },
]

/** The points in the flow of job internals at which the daemon can be killed, in order. */
export const insidePoints: readonly Point[] = [
  commit('what is to be read inside of jobs put into its queue, with their snapshot', [
    'insert messages',
    'insert job_reads',
  ]),
  commit(
    'what is to be read of jobs after all put into its queue, with their details',
    ['update runs', 'insert job_reads'],
    ({ changes }) => !changes.has('insert messages'),
  ),
  commit('the inside of jobs taken to be read', ['update job_reads'], onlyIn('job_reads')),
  commit('a report of tests remembered', ['insert test_reports']),
  commit('the names of a report of metrics remembered', ['insert key_value'], ({ values }) =>
    [...values].some(value => value.startsWith('reported-names ')),
  ),
  commit('what was read inside of a job put into the outbox', ['insert chunks', 'insert outbox', 'delete job_reads']),
]

/** The points at which the daemon can be killed while it counts deployments and incidents, which are counted separately from pipelines. */
export const countedPoints: readonly Point[] = [
  commit('a deployment written, with the key of its delivery', ['insert deployments', 'insert delivery_keys']),
  commit('a deployment counted, with what it adds to totals', ['update deployments', 'insert totals_added']),
  commit('an incident counted, with what it adds to totals', ['update incidents', 'insert totals_added']),
  commit('what was added to totals folded into them', ['delete totals_added', 'insert totals']),
]

/** The points at which the daemon can be killed while it sends a notification to people. */
export const messagePoints: readonly Point[] = [
  commit('a message put into the outbox, with what it is about and what reported it', [
    ...['update runs', 'insert key_value', 'insert events', 'insert outbox'],
  ]),
  ...points.filter(({ name }) =>
    ['request: to the backend', 'verdict: delivered', 'commit: exports settled as delivered'].includes(name),
  ),
]

export interface Moment {
  readonly point: Point
  readonly side: 'before' | 'after'
}

/** Returns the moments before and after each point that exists on a database engine, in the order of the points. */
export function momentsOn(engine: Engine, of: readonly Point[] = points): Moment[] {
  return of
    .filter(({ engines }) => engines.includes(engine))
    .flatMap(point => (['before', 'after'] as const).map(side => ({ point, side })))
}

export function nameOf({ point, side }: Moment): string {
  return `${side} ${point.name}`
}
