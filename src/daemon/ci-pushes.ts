// Lets the inventory of includes ask again after a push that may have changed a CI configuration, instead of a week later.
import { reasonOf } from '../lib/fault.ts'
import { includes } from '../platform/inventory/includes.ts'
import { platformViews } from './configuration/platforms.ts'
import type { Context } from './context.ts'
import type { PlatformEvent } from '../model/event.ts'

/** Undefined if no project is asked about. What a killed process has missed is found by the next round. */
export function ciPushesOf({ config, store, log }: Context): ((event: PlatformEvent) => void) | undefined {
  const { inventoryStates } = store.repositories
  const named = platformViews(config).flatMap(view => view.config.inventory[includes.kind] ?? [])
  if (named.length === 0) return undefined
  return ({ project }) => {
    // The platform ignores the case of paths.
    const own = [project?.path?.toLowerCase(), project?.id.toString()]
    const names = named.filter(name => own.includes(name.toLowerCase()))
    if (names.length === 0) return
    askAgain(names).catch((error: unknown) =>
      log.warn(
        { project: project?.path, reason: reasonOf(error) },
        'a changed CI configuration is asked about a week later',
      ),
    )
  }

  async function askAgain(names: readonly string[]): Promise<void> {
    const states = (await inventoryStates.all()).filter(({ kind, of }) => kind === includes.kind && names.includes(of))
    for (const state of states) {
      await inventoryStates.change(state, (known, now) => ({
        document: known && { ...known, nextAt: Math.min(known.nextAt, now) },
        result: undefined,
      }))
    }
  }
}
