// Checks the store: whether it accepts writes, how full it is, and which platforms its pipelines come from.
import { existsSync } from 'node:fs'
import { broken, reportOf, type Finding } from '../../lib/finding.ts'
import { normalizeInstance } from '../../model/instance.ts'
import { features } from '../../features.ts'
import { tablesOf } from '../../daemon/feature.ts'
import { openStore } from '../../core/store/open-store.ts'
import { sendsNothing } from '../../core/store/ports/outbox.ts'
import { storeFile, provePlace } from '../../core/store/sqlite/store-file.ts'
import type { Config } from '../../daemon/configuration/options.ts'
import type { SharedStore } from '../../core/store/ports/store.ts'

/** The share of the size limit at which the store counts as nearly full. */
const nearlyFull = 0.8
/** The number of pipelines whose instance is checked. */
const maxChecked = 200

const report = reportOf('store')

/** Checks the store. Also returns the store, or undefined if there is no store yet or it cannot be opened. */
export async function checkStore(config: Config): Promise<{ findings: Finding[]; store?: SharedStore }> {
  const { url, maxSize } = config.store
  if (url.engine === 'sqlite' && !existsSync(url.path)) return { findings: [notYet(url.path)] }
  let store: SharedStore
  try {
    store = await openStore(url, { maxSize, parts: tablesOf(features), encode: sendsNothing })
  } catch (error) {
    return { findings: [broken(report, 'failure', error)] }
  }
  try {
    await store.proveWritable()
    return { store, findings: [roomOf(await store.pruning.fullness(), maxSize)] }
  } catch (error) {
    return { store, findings: [broken(report, 'failure', error)] }
  }
}

/** `fullness` is the used share of the size limit. */
function roomOf(fullness: number, maxSize: number): Finding {
  const size = `${mib(fullness * maxSize)} of ${mib(maxSize)}`
  if (fullness < nearlyFull) return report('fine', `The store accepts writes; used: ${size}.`)
  const remedy =
    'Raise PIPESPAN_STORE_MAX_SIZE, or shorten PIPESPAN_RETENTION: when the store is full, webhooks are refused.'
  return report('warning', `The store is nearly full: ${size}.`, remedy)
}

function notYet(file: string): Finding {
  try {
    provePlace(storeFile(file))
    return report('fine', `There is no store at ${file} yet; the daemon creates it.`)
  } catch (error) {
    return broken(report, 'failure', error)
  }
}

function mib(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(bytes < 10 * 2 ** 20 ? 1 : 0)} MiB`
}

/** Warns about pipelines from an unconfigured platform, because their details cannot be fetched. `urls` are the URLs of the configured platforms. */
export async function checkInstances(urls: readonly (string | undefined)[], store: SharedStore): Promise<Finding> {
  const foreign = reportOf('instances')
  const known = urls.flatMap(url => normalizeInstance(url) ?? [])
  const own = known.join(', ')
  if (known.length === 0)
    return foreign('skipped', 'No platform is configured: the instance is taken from each delivery.')
  const { runs } = await store.views.search({ limit: maxChecked })
  const others = new Map<string, number>()
  for (const { run } of runs) {
    const { instance } = run.key
    if (!known.includes(instance)) others.set(instance, (others.get(instance) ?? 0) + 1)
  }
  if (others.size === 0) return foreign('fine', `All stored pipelines are from ${own}.`)
  const named = [...others].map(([instance, count]) => `${instance} (${count})`).join(', ')
  return foreign(
    'warning',
    `Some of the newest ${runs.length} pipelines are not from ${own}, but from other instances: ${named}. Their details are not fetched.`,
    "Set PIPESPAN_PLATFORM_URL to the platform's own external URL, or remove these webhooks.",
  )
}
