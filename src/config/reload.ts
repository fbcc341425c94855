// What SIGHUP does: reads and checks the configuration again, takes over secrets at once, and names every other changed
// setting, because it needs a restart.
import { describeSource } from './config-fault.ts'
import { LiveSecret } from './live-secret.ts'
import { loadConfig, type FaultyConfig, type LoadedConfig, type LoadOptions } from './load.ts'
import { Secret } from '../lib/secret.ts'
import type { Setting } from './reader.ts'
import { shown } from './describe.ts'

export interface ReloadedConfig {
  readonly ok: true
  /** A sentence for each setting that differs from the running one. */
  readonly restart: readonly string[]
  readonly warnings: readonly string[]
}

/** `options`: those that the running configuration was loaded with. With faults, nothing changes. */
export function reloadConfig<P extends string>(
  running: LoadedConfig<P>,
  options: LoadOptions<P>,
): ReloadedConfig | FaultyConfig {
  const loaded = loadConfig(options)
  if (!loaded.ok) return loaded
  const before = new Map(running.settings.map(setting => [setting.path, setting]))
  const after = new Map(loaded.settings.map(setting => [setting.path, setting]))
  const restart: string[] = []
  const changed = lists.filter(list => listsDiffer(list, before, after))
  for (const list of changed) restart.push(`${list}: Changed; the running ones stay in use until a restart.`)
  for (const [path, setting] of after) {
    const old = before.get(path)
    if (old === undefined || changed.some(list => path.startsWith(`${list}[`))) continue
    if (old.value instanceof LiveSecret && setting.value instanceof LiveSecret) old.value.adopt(setting.value)
    else if (!same(old.value, setting.value)) restart.push(needsRestart(old, setting))
  }
  return { ok: true, restart, warnings: loaded.warnings }
}

/** Lists whose items have secrets. */
const lists = ['destinations', 'platforms']

function needsRestart(old: Setting, now: Setting): string {
  const value = shown(now) === shown(old) ? 'another value' : shown(now)
  return `${now.path}: ${value} (${describeSource(now.source)}) needs a restart; ${shown(old)} stays in use until then.`
}

/** Whether the lists differ in more than their secrets. Then it is unknown which new item is which old one. */
function listsDiffer(list: string, before: ReadonlyMap<string, Setting>, after: ReadonlyMap<string, Setting>): boolean {
  const paths = new Set([...before.keys(), ...after.keys()].filter(path => path.startsWith(`${list}[`)))
  return [...paths].some(path => {
    const [old, now] = [before.get(path), after.get(path)]
    if (old === undefined || now === undefined) return true
    return !(old.value instanceof LiveSecret) && !same(old.value, now.value)
  })
}

function same(a: unknown, b: unknown): boolean {
  if (a instanceof Secret && b instanceof Secret) return a.equals(b.reveal())
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  const [left, right] = [Object.entries(a), Object.entries(b)]
  return left.length === right.length && left.every(([key, value]) => same(value, (b as Record<string, unknown>)[key]))
}
