// Where on its way a daemon can be killed: one table, read by the tests and by the process that is to die (`kill-switch.ts`).

/** What passes by in the process, as the kill switch sees it from outside. */
export type Event =
  /** A transaction; `told`: the texts of its statements, and their short values. */
  | { readonly kind: 'commit'; readonly told: string }
  /** A file of the journal is forced to the disk. */
  | { readonly kind: 'sync' }
  /** An answer to a webhook. */
  | { readonly kind: 'answer'; readonly status: number }
  /** A request to the backend is handed over to be sent. */
  | { readonly kind: 'request' }
  /** The backend's answer, before it is known and after. */
  | { readonly kind: 'verdict'; readonly status: number }

export type Engine = 'sqlite' | 'postgres'

export interface Point {
  /** What is about to be, or has just been. */
  readonly name: string
  readonly engines: readonly Engine[]
  readonly isAt: (event: Event) => boolean
  /** Reached only at the beginning of a life on an empty store. */
  readonly first?: true
  /** What a life must have for the point to be reached in it. */
  readonly needs?: 'a refused pipeline' | 'an overloaded backend' | 'a short retention'
}

const both: readonly Engine[] = ['sqlite', 'postgres']

function commit(name: string, ...patterns: readonly RegExp[]): Point {
  return {
    name: `commit: ${name}`,
    engines: both,
    isAt: event => event.kind === 'commit' && patterns.every(pattern => pattern.test(event.told)),
  }
}

function answer(name: string, status: number): Point {
  return { name: `answer: ${name}`, engines: both, isAt: event => event.kind === 'answer' && event.status === status }
}

function verdict(name: string, status: number): Point {
  return { name: `verdict: ${name}`, engines: both, isAt: event => event.kind === 'verdict' && event.status === status }
}

/** On SQLite webhooks reach the inbox by way of the journal. */
function atSync(point: Point): Point {
  return { ...point, isAt: event => event.kind === 'sync' || point.isAt(event) }
}

const isErased = /DELETE FROM inbox|UPDATE journal_progress/
const isSettled = /UPDATE exports[^]*(settled_at|SET due_at = \?, error)/

/** In the order of the flow. Each has a moment before it and one after. */
export const points: readonly Point[] = [
  { ...commit('the schema made', /CREATE TABLE inbox/), first: true },
  {
    ...commit('what a dead process had leased given back', /UPDATE asking SET due_at = \?, held = 0 WHERE held = 1/),
    engines: ['sqlite'],
  },
  atSync(commit('deliveries put into the inbox', /INSERT INTO delivery_keys/, /INSERT INTO inbox/)),
  answer('accepted', 202),
  answer('known already', 200),
  commit(
    'a delivery that tells nothing erased',
    isErased,
    /^(?![^]*(INTO|UPDATE) (?!delivery_keys|journal_progress|SET))/,
  ),
  commit('a delivery that nobody can read kept', /INSERT INTO kept_deliveries/),
  commit('news in its run, its deliveries erased', isErased, /INSERT INTO runs/),
  // On SQLite they are held in memory, as exports are.
  { ...commit('runs taken to be settled', /UPDATE runs SET due_at = \S+\s+WHERE id IN/), engines: ['postgres'] },
  commit('a run frozen and owed', /INSERT INTO parts/, /INSERT INTO exports/),
  { ...commit('exports leased', /UPDATE exports e SET lease = \$/), engines: ['postgres'] },
  { name: 'request: to the backend', engines: both, isAt: event => event.kind === 'request' },
  verdict('delivered', 200),
  commit('exports settled as delivered', isSettled, /delivered/),
  { ...verdict('later', 503), needs: 'an overloaded backend' },
  { ...commit('exports put off', isSettled, /503/), needs: 'an overloaded backend' },
  { ...verdict('refused', 400), needs: 'a refused pipeline' },
  { ...commit('a dead letter', isSettled, /^(?![^]*'dropped')[^]*dead/), needs: 'a refused pipeline' },
  { ...commit('a delivered run pruned', /DELETE FROM runs/, /INSERT [^]*INTO tombstones/), needs: 'a short retention' },
]

export interface Moment {
  readonly point: Point
  readonly side: 'before' | 'after'
}

/** All moments of an engine, those of the first life first. */
export function momentsOn(engine: Engine): Moment[] {
  return points
    .filter(({ engines }) => engines.includes(engine))
    .flatMap(point => (['before', 'after'] as const).map(side => ({ point, side })))
}

export function nameOf({ point, side }: Moment): string {
  return `${side} ${point.name}`
}
