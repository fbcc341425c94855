// The kill switch for a daemon on PostgreSQL: it watches the package `pg` too, and so the daemon must have been started from its sources.
import pg from 'pg'
import { committed, pass, wrap, type Method } from './kill-switch.ts'

wrap(
  pg.Client.prototype,
  'query',
  query =>
    function (...args) {
      const [config, values] = args
      const sql = typeof config === 'string' ? config : String((config as { text?: unknown }).text)
      const event = committed(this, sql, Array.isArray(values) ? values : [])
      if (event === undefined) return query.apply(this, args)
      pass(event, 'before')
      const last = args.at(-1)
      if (typeof last === 'function') {
        const reported = (...outcome: unknown[]): unknown => {
          if (outcome[0] == null) pass(event, 'after')
          return (last as Method).apply(this, outcome)
        }
        return query.apply(this, [...args.slice(0, -1), reported])
      }
      return (query.apply(this, args) as Promise<unknown>).then(result => {
        pass(event, 'after')
        return result
      })
    },
)
