// The kill switch for a daemon on PostgreSQL. It also watches the clients of the package `pg`, and finds them by modifying the bundle's files as they
// are loaded.
import { registerHooks } from 'node:module'
import { committed, pass, wrap, type Method } from './kill-switch.ts'

/** The line in the bundle that exports the client of `pg`. undici has a client with the same name, but without `query`. */
const exportLine = 'module.exports = Client;'

declare global {
  /** The modified bundle calls this function with the client class of `pg`, and with that of undici. */
  var watchClient: (client: { readonly prototype: object }) => void
}

globalThis.watchClient = ({ prototype }) => {
  if ('query' in prototype) wrap(prototype, 'query', watched)
}

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context)
    if (!url.includes('/dist/modules/')) return loaded
    const text = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source)
    if (!text.includes(exportLine)) return loaded
    return { ...loaded, source: text.replaceAll(exportLine, `globalThis.watchClient(Client); ${exportLine}`) }
  },
})

const watched = (query: Method): Method =>
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
  }
