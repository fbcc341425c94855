// Ends its own process with SIGKILL at one of the moments in `points.ts`. It is loaded before the program, in each of the program's threads (`node
// --import`). It observes every commit, response and request from outside, so the program needs no code for it.
import { ServerResponse } from 'node:http'
import { writeSync } from 'node:fs'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { subscribe } from 'node:diagnostics_channel'
import { countedPoints, insidePoints, messagePoints, points, type Event, type Moment } from './points.ts'

/** `CRASH_AT`: the name of the moment. `CRASH_NTH`: the occurrence of this moment at which the process ends; default 1. */
const target = process.env.CRASH_AT ?? ''
const nth = Number(process.env.CRASH_NTH ?? 1)
let passed = 0

/** Ends the process if this is the chosen moment. Before that, it prints that the moment was reached. */
export function pass(event: Event, side: Moment['side']): void {
  const isIt = [...points, ...insidePoints, ...countedPoints, ...messagePoints].some(
    ({ name, isAt }) => target === `${side} ${name}` && isAt(event),
  )
  if (!isIt || ++passed < nth) return
  writeSync(2, `\nkilled ${target}\n`)
  process.kill(process.pid, 'SIGKILL')
}

interface Transaction {
  readonly changes: Set<string>
  readonly values: Set<string>
}
/** The changes and values of each connection's open transaction. */
const open = new WeakMap<object, Transaction>()

/** Returns the transaction that this statement commits, or undefined if it commits none. */
export function committed(connection: object, sql: string, values: readonly unknown[]): Event | undefined {
  if (/^\s*BEGIN/i.test(sql)) open.set(connection, { changes: new Set(), values: new Set() })
  else if (/^\s*ROLLBACK/i.test(sql)) open.delete(connection)
  else {
    const isCommit = /^\s*COMMIT/i.test(sql)
    const transaction = open.get(connection)
    const made = transaction ?? { changes: new Set<string>(), values: new Set<string>() }
    for (const change of changesOf(sql)) made.changes.add(change)
    for (const value of [...values.flat(), ...literalsOf(sql)])
      if (typeof value === 'string' && value.length < 40) made.values.add(value)
    if (isCommit) open.delete(connection)
    if (isCommit || transaction === undefined) return { kind: 'commit', ...made }
  }
  return undefined
}

/** Returns the operations and tables of an SQL statement, such as `insert runs`. */
function changesOf(sql: string): string[] {
  const found = sql.matchAll(
    /(?<!\b(?:FOR|DO|ON)\s+)\b(CREATE|INSERT|UPDATE|DELETE)\s+(?:OR\s+\w+\s+)?(?:TABLE\s+|INTO\s+|FROM\s+)?"?(\w+)/gi,
  )
  return [...found].map(([, what = '', table = '']) => `${what} ${table}`.toLowerCase())
}

function literalsOf(sql: string): string[] {
  return [...sql.matchAll(/'(\w+)'/g)].map(([, value = '']) => value)
}

export type Method = (this: object, ...args: unknown[]) => unknown

/** Replaces a method with the result of `around`. */
export function wrap(owner: object, name: string, around: (method: Method) => Method): void {
  const found: unknown = Reflect.get(owner, name)
  if (typeof found !== 'function') throw new TypeError(`${name} is not a method, so the kill switch cannot observe it`)
  Object.defineProperty(owner, name, { value: around(found as Method), writable: true, configurable: true })
}

function committing(connection: object, sql: string, values: readonly unknown[], commit: () => unknown): unknown {
  const event = committed(connection, sql, values)
  if (event === undefined) return commit()
  pass(event, 'before')
  const result = commit()
  pass(event, 'after')
  return result
}

const statements = new WeakMap<object, { connection: object; sql: string }>()
wrap(
  DatabaseSync.prototype,
  'prepare',
  prepare =>
    function (...args) {
      const statement = prepare.apply(this, args) as object
      statements.set(statement, { connection: this, sql: String(args[0]) })
      return statement
    },
)
wrap(
  DatabaseSync.prototype,
  'exec',
  exec =>
    function (...args) {
      return committing(this, String(args[0]), [], () => exec.apply(this, args))
    },
)
for (const name of ['run', 'get', 'all']) {
  wrap(
    StatementSync.prototype,
    name,
    method =>
      function (...args) {
        const { connection, sql } = statements.get(this) ?? { connection: this, sql: '' }
        return committing(connection, sql, args, () => method.apply(this, args))
      },
  )
}

wrap(
  ServerResponse.prototype,
  'end',
  end =>
    function (...args) {
      const response = this as ServerResponse
      if (!(response.req.method === 'POST' && response.req.url?.endsWith('/webhooks') === true))
        return end.apply(this, args)
      const event: Event = { kind: 'answer', status: response.statusCode }
      pass(event, 'before')
      response.once('finish', () => pass(event, 'after'))
      return end.apply(this, args)
    },
)

/** The messages that undici publishes about its requests. It publishes them even as part of the bundle. */
interface RequestMessage {
  readonly request: object
  readonly response: { readonly statusCode: number }
}
const statuses = new WeakMap<object, number>()
subscribe('undici:request:create', () => pass({ kind: 'request' }, 'before'))
// undici writes the request to the socket before the next turn of the event loop.
subscribe('undici:client:sendHeaders', () => setImmediate(() => pass({ kind: 'request' }, 'after')))
subscribe('undici:request:headers', message => {
  const { request, response } = message as RequestMessage
  statuses.set(request, response.statusCode)
})
subscribe('undici:request:trailers', message => {
  const event: Event = { kind: 'verdict', status: statuses.get((message as RequestMessage).request) ?? 0 }
  pass(event, 'before')
  // By the next tick, the caller has received the response.
  process.nextTick(() => pass(event, 'after'))
})
