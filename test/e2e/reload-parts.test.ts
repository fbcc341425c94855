// Tests that a reload reads from the new configuration every option that a start reads, and that no code goes on using the previous configuration.
import { expect, it, vi } from 'vitest'
import path from 'node:path'
import { closeAfterTest, temporaryFolder } from '../support/after-test.ts'
import { allOptions, type Config } from '../../src/daemon/configuration/options.ts'
import { loadConfig } from '../../src/daemon/configuration/load.ts'
import { profiles, type ProfileName } from '../../src/daemon/profile.ts'
import { rowsOf } from '../../src/daemon/configuration/option.ts'
import { several, whole, yamlOf, type Tree } from '../daemon/configuration/whole.ts'
import { silentLog } from '../../src/lib/log.ts'
import { features } from '../../src/features.ts'
import { startDaemon } from '../../src/daemon/daemon.ts'

/**
 * Options that a reload need not read: options that are used before or outside the reloadable parts, and secrets, which are read at each use. They
 * are spelled as in the configuration, for example `store.maxSize`.
 */
const others = rowsOf(allOptions(profiles, features)).flatMap(({ path: place, option }) =>
  option.spec.restart === undefined && !option.kind.secret
    ? []
    : [place.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())],
)

/** Returns a proxy of the value that calls `onRead` with the path of each property that is read. */
function watched<T extends object>(value: T, onRead: (path: string) => void, before = ''): T {
  return new Proxy(value, {
    get: (target, key) => {
      const inner: unknown = Reflect.get(target, key)
      if (typeof key === 'symbol') return inner
      const place = `${before}${/^\d+$/.test(key) ? '[]' : `${before === '' ? '' : '.'}${key}`}`
      const isGroup = isPlain(inner) || (Array.isArray(inner) && inner.every(isPlain))
      if (!isGroup && (!Array.isArray(target) || /^\d+$/.test(key))) onRead(place)
      return isGroup ? watched(inner as object, onRead, place) : inner
    },
  })
}

function isPlain(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

it.each([
  ['one platform', whole],
  ['several platforms', several],
])('reads all options again on reload, with %s', async (_, tree: Tree) => {
  const store = `sqlite:${path.join(temporaryFolder(), 'pipespan.db')}`
  const load = (): Config<ProfileName> => {
    const text = yamlOf({
      ...tree,
      listen: '127.0.0.1:0',
      admin: { ...(tree.admin as Tree), listen: '127.0.0.1:0' },
      store: { url: store },
      self: { telemetry: true },
      ...(tree.platforms === undefined && { inventory: { runners: ['team'] }, audit: ['team'] }),
      redelivery: true,
      mcp: true,
    })
    const loaded = loadConfig({ env: {}, file: 'pipespan.yaml', text, profiles, features })
    if (loaded.ok) return loaded.config
    throw new Error(loaded.faults.map(({ setting, what }) => `${setting}: ${what}`).join('\n'))
  }
  let reads = new Set<string>()
  const old = watched(load(), place => reads.add(place))
  const log = silentLog()
  const daemon = await startDaemon({ config: old, features, log })
  closeAfterTest({ close: async () => daemon.stop(0) })
  const atStart = reads
  expect(atStart.size).toBeGreaterThan(50)
  const atReload = new Set<string>()
  await daemon.reload(watched(load(), place => atReload.add(place)))
  const missing = [...atStart].filter(
    place => !atReload.has(place) && !others.some(one => place === one || place.startsWith(`${one}.`)),
  )
  expect(missing).toEqual([])
  // Code that still used the previous configuration would read it on each request. A request that is in progress during the reload may still do so
  // for a moment.
  await vi.waitFor(async () => {
    reads = new Set()
    const headers = { authorization: 'Bearer an-admin-token-of-tests' }
    for (const page of ['/metrics', '/', '/api/config', '/exports', '/sources'])
      expect((await fetch(daemon.adminUrl + page, { headers })).status).toBeLessThan(500)
    expect((await fetch(`${daemon.url}/webhooks`, { method: 'POST', body: '{}' })).status).toBe(401)
    daemon.refresh()
    expect([...reads]).toEqual([])
  }, 60_000)
})
