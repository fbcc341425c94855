// Ends its own process with SIGKILL at a moment of `points.ts`. Loaded before the program, in each of its threads
// (`node --import`): it sees from outside what every commit, answer and request goes through; the program knows nothing of it.
import { ServerResponse } from 'node:http'
import fs, { writeSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import pg from 'pg'
import { Agent, type Dispatcher } from 'undici'
import { points, type Event, type Moment } from './points.ts'

/** `CRASH_AT`: a moment's name. `CRASH_NTH`: the how manieth time it comes, 1 without it. */
const target = process.env.CRASH_AT ?? ''
const nth = Number(process.env.CRASH_NTH ?? 1)
let passed = 0

/** Its last words tell that the moment was reached. */
function pass(event: Event, side: Moment['side']): void {
  const isIt = points.some(({ name, isAt }) => target === `${side} ${name}` && isAt(event))
  if (!isIt || ++passed < nth) return
  writeSync(2, `\nkilled ${target}\n`)
  process.kill(process.pid, 'SIGKILL')
}

/** Statements since BEGIN, by connection. */
const open = new WeakMap<object, string[]>()

/** Answers the transaction that this statement commits, if it does. */
function heard(connection: object, sql: string, values: readonly unknown[]): Event | undefined {
  if (/^\s*BEGIN/i.test(sql)) open.set(connection, [])
  else if (/^\s*ROLLBACK/i.test(sql)) open.delete(connection)
  else if (/^\s*COMMIT/i.test(sql)) {
    const told = open.get(connection) ?? []
    open.delete(connection)
    return { kind: 'commit', told: told.join('\n') }
  } else {
    const told = `${sql}\n${shortOnes(values).join(' ')}`
    const transaction = open.get(connection)
    if (transaction === undefined) return { kind: 'commit', told }
    transaction.push(told)
  }
  return undefined
}

function shortOnes(values: readonly unknown[]): string[] {
  return values.flat().filter((value): value is string => typeof value === 'string' && value.length < 40)
}

type Method = (this: object, ...args: unknown[]) => unknown

/** Puts `around` in the place of a method. */
function wrap(owner: object, name: string, around: (method: Method) => Method): void {
  const found: unknown = Reflect.get(owner, name)
  if (typeof found !== 'function') throw new TypeError(`${name} is no method: the kill switch sees nothing`)
  Object.defineProperty(owner, name, { value: around(found as Method), writable: true, configurable: true })
}

function committing(connection: object, sql: string, values: readonly unknown[], commit: () => unknown): unknown {
  const event = heard(connection, sql, values)
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
  fs,
  'fdatasyncSync',
  fdatasync =>
    function (...args) {
      pass({ kind: 'sync' }, 'before')
      fdatasync.apply(this, args)
      pass({ kind: 'sync' }, 'after')
      return undefined
    },
)
syncBuiltinESMExports()

wrap(
  pg.Client.prototype,
  'query',
  query =>
    function (...args) {
      const [config, values] = args
      const sql = typeof config === 'string' ? config : String((config as { text?: unknown }).text)
      const event = heard(this, sql, Array.isArray(values) ? values : [])
      if (event === undefined) return query.apply(this, args)
      pass(event, 'before')
      const last = args.at(-1)
      if (typeof last === 'function') {
        const told = (...outcome: unknown[]): unknown => {
          if (outcome[0] == null) pass(event, 'after')
          return (last as Method).apply(this, outcome)
        }
        return query.apply(this, [...args.slice(0, -1), told])
      }
      return (query.apply(this, args) as Promise<unknown>).then(result => {
        pass(event, 'after')
        return result
      })
    },
)

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

wrap(
  Agent.prototype,
  'dispatch',
  dispatch =>
    function (options, handler) {
      const next = handler as Dispatcher.DispatchHandler
      let status = 0
      pass({ kind: 'request' }, 'before')
      const watching: Dispatcher.DispatchHandler = {
        onRequestStart: (...args) => {
          // Its bytes go out in this turn.
          setImmediate(() => pass({ kind: 'request' }, 'after'))
          next.onRequestStart?.(...args)
        },
        onResponseStart: (...args) => {
          status = args[1]
          next.onResponseStart?.(...args)
        },
        onResponseData: (...args) => next.onResponseData?.(...args),
        onResponseEnd: (...args) => {
          pass({ kind: 'verdict', status }, 'before')
          next.onResponseEnd?.(...args)
          pass({ kind: 'verdict', status }, 'after')
        },
        onResponseError: (...args) => next.onResponseError?.(...args),
      }
      return dispatch.apply(this, [options, watching])
    },
)
