// Changes one option at a time and reloads the configuration. Afterwards the daemon uses the new value, like a freshly started daemon, or reports
// that it needs a restart. `test/e2e/reload-parts.test.ts` tests that the parts of the daemon use the new values.
import { expect, it } from 'vitest'
import { pino } from 'pino'
import { companions, nameOf, nodesIn, plain, several, valueAt, whole, withValue, writingsOf, yamlOf } from './whole.ts'
import { createLiveConfig } from '../../../src/daemon/live-config.ts'
import { fileWith } from './given.ts'
import { loadConfig, type LoadedConfig } from '../../../src/daemon/configuration/load.ts'
import { profiles, type ProfileName } from '../../../src/daemon/profile.ts'
import type { Option } from '../../../src/daemon/configuration/option.ts'
import { features } from '../../../src/features.ts'
import type { ConfigNode, Tree } from './whole.ts'

type OptionNode = ConfigNode & { readonly tree: Tree; readonly option: Option }

const optionsOf = (tree: Tree): OptionNode[] =>
  nodesIn(tree).flatMap(({ steps, option }) => (option === undefined ? [] : [{ tree, steps, option }]))
const nodes = [...optionsOf(whole), ...optionsOf(several).filter(({ steps }) => steps[0] === 'platforms')]

const inAnyItem = (name: string): string => name.replace(/\[\d+\]/g, '[]')
const tried = new Set<string>()
const started = new Map<Tree, LoadedConfig<ProfileName>>()

function load(text: string) {
  return loadConfig({ env: {}, file: 'pipespan.yaml', text, profiles, features })
}

function loaded(tree: Tree): LoadedConfig<ProfileName> {
  const found = load(yamlOf(tree))
  if (!found.ok) throw new Error(found.faults.map(({ setting, what }) => `${setting}: ${what}`).join('\n'))
  return found
}

/**
 * Returns the configuration before the reload. For a secret it is loaded anew each time, because reloading a secret modifies the loaded
 * configuration.
 */
function runningOf({ tree, option }: OptionNode): LoadedConfig<ProfileName> {
  const known = option.kind.secret ? undefined : started.get(tree)
  const running = known ?? loaded(tree)
  if (!option.kind.secret) started.set(tree, running)
  return running
}

async function reload(node: OptionNode, value: unknown): Promise<boolean> {
  const { tree, steps, option } = node
  const name = nameOf(node)
  const changed = Object.entries(companions[name] ?? {}).reduce(
    (inner, [path, other]) => withValue(inner, path.split('.'), other),
    withValue(tree, steps, value),
  )
  const text = yamlOf(changed)
  const wanted = load(text)
  const running = runningOf(node)
  const before = plain(running.config)
  if (!wanted.ok || JSON.stringify(plain(wanted.config)) === JSON.stringify(before)) return false
  const lines: string[] = []
  const log = pino({ base: null }, { write: line => lines.push(line) })
  let inUse = running.config
  let restarts = 0
  const loading = { env: {}, file: 'pipespan.yaml', profiles, features }
  const live = createLiveConfig({ loaded: running, loading, log, now: () => 0 })
  const daemon = {
    refresh: () => undefined,
    reload: async (config: typeof inUse) => {
      inUse = config
      restarts += 1
    },
  }
  await live.reload(daemon, text)
  const messages = [...live.status().restart, ...(live.status().refused?.faults ?? [])].join('\n')
  if (messages === '') {
    expect(plain(inUse)).toEqual(plain(wanted.config))
    // A secret's value is read at each use. For all other options, parts of the daemon are restarted.
    if (restarts === 0) expect(option.kind.secret).toBe(true)
  } else {
    expect(plain(inUse)).toEqual(before)
    expect(lines.join('')).toMatch(/restart (the daemon )?to apply/i)
    expect(messages).toContain(name.replace(/s?[.[].*/, ''))
  }
  return true
}

it.each(nodes.map(node => [nameOf(node), node] as const))('reloads %s, or requires a restart', async (name, node) => {
  const isSet = valueAt(node.tree, node.steps) !== undefined
  for (const value of writingsOf(node.option).slice(0, node.option.kind.secret ? 4 : undefined)) {
    if (!(await reload(node, value))) continue
    tried.add(inAnyItem(name))
    if (!node.option.kind.secret) break
  }
  if (isSet) await reload(node, undefined)
})

it('tests the reload of every option that can have two different values', () => {
  const all = new Set(nodes.map(node => inAnyItem(nameOf(node))))
  // These options have only one valid value: there is only one protocol, and a query can name a different platform only if there are several.
  const others = [...all].filter(name => !tried.has(name) && !/protocol$|^queries\[\]\.platform$/.test(name))
  expect(others).toEqual([])
})

it('applies a changed secret without restarting any part, unless templates in it change or a token is added or removed', async () => {
  const restartsFor = async (from: string, to: string): Promise<number> => {
    const file = fileWith(from)
    const loading = { env: {}, file, profiles, features }
    const running = loadConfig(loading)
    if (!running.ok) throw new Error('The configuration of this test has faults.')
    const live = createLiveConfig({ loaded: running, loading, log: pino({ enabled: false }), now: () => 0 })
    let restarts = 0
    const reloading = async (): Promise<void> => {
      restarts += 1
    }
    await live.reload({ refresh: () => undefined, reload: reloading }, to)
    expect(live.status().refused).toBeUndefined()
    return restarts
  }
  const headers = (value: string): string => `destinations: [{ name: a, endpoint: 'http://a', headers: ${value} }]`
  const platform = (more: string): string => `settle: 5s\nplatform: { url: 'http://a'${more} }`
  expect([
    await restartsFor(headers('{ x: one }'), headers('{ x: two, y: three }')),
    await restartsFor(headers("{ x: 'a-{group}' }"), headers("{ x: 'b-{group}' }")),
    await restartsFor(platform(', token: one'), platform(', token: two')),
  ]).toEqual([0, 0, 0])
  expect([
    await restartsFor(headers('{ x: one }'), headers("{ x: 'tenant-{group}' }")),
    await restartsFor(headers("{ x: 'tenant-{group}' }"), headers("{ x: 'tenant-{project.id}' }")),
    await restartsFor(platform(''), platform(', token: one')),
    await restartsFor(platform(', token: one'), platform('')),
  ]).toEqual([1, 1, 1, 1])
})
