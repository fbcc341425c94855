// Refreshes a project's includes soon after a push that may have changed its CI configuration: the inventory requests them at once, instead of a week
// later.
import { lockNames, type Steps, type Within } from '../../core/store/sql/steps.ts'
import { inventoryState, type InventoryState } from '../../core/store/ports/gauge-documents.ts'
import { text, type Row } from '../../core/store/sql/columns.ts'
import { includes } from '../../platform/inventory/includes.ts'
import { perToken, type PartContext } from '../../daemon/feature.ts'
import { reportsBy, type LineStep } from '../../core/store/ports/reporter.ts'
import { storedDocument } from '../../core/store/sql/stored-json.ts'
import { selectValue, valueOf, writeValue } from '../../core/store/sql/repositories.ts'
import type { InventoryOptions } from './options.ts'
import type { Reporter } from '../../core/store/ports/runs.ts'

/** Returns no step if the configuration names no project whose includes are to be read. */
export function ciPushes(options: InventoryOptions, context: Pick<PartContext, 'config'>): LineStep {
  const named = perToken(context, options).flatMap(({ inventory }) => inventory[includes.kind] ?? [])
  if (named.length === 0) return {}
  return {
    onEvent: ({ instance, touchesCi = false, project }) => {
      if (!touchesCi) return []
      // The project is compared with the configured names in lower case, because the platform ignores case in paths.
      const own = [project?.path?.toLowerCase(), project?.id.toString()]
      const pushed = named.filter(name => own.includes(name.toLowerCase()))
      return reportsBy(
        includesRefresh,
        pushed.map(of => ({ instance, of })),
      )
    },
  }
}

/** A project that was pushed to. `of` is its name, spelled as in the configuration. */
interface Pushed {
  readonly instance: string
  readonly of: string
}

/** Makes the inventory request the includes of these projects at once. */
const includesRefresh: Reporter<Pushed> = { order: 150, write: makeDue }

/**
 * Stored inventory states have names of the form `inventory SCOPE KIND OF`. A scope is an instance, followed by the groups of the token if it has any.
 * The groups are not known here, so the statement selects the names of all states. It does not select the values, because the dependencies of a
 * single project may take hundreds of kilobytes.
 */
const selectNames = "SELECT name FROM key_value WHERE substr(name, 1, 10) = 'inventory '"
const nameIn = text('name')

function* makeDue(pushed: readonly Pushed[], within: Within): Steps<void> {
  const isOf = (name: string): boolean =>
    pushed.some(
      ({ instance, of }) => name.startsWith(`inventory ${instance} `) && name.endsWith(` ${includes.kind} ${of}`),
    )
  const listed = (yield [selectNames, []]).map(row => nameIn(row))
  const keys = listed.filter(isOf).sort()
  yield* lockNames(keys, within)
  for (const name of keys) {
    const [row] = yield [selectValue, [name]]
    const state = stateIn(row && { ...row, name }, within)
    // The kind in the stored state is checked as well as the name, because the state of a query may have a name with the same ending.
    if (state?.kind !== includes.kind || !pushed.some(({ of }) => of === state.of)) continue
    yield [writeValue, [name, JSON.stringify({ ...state, nextAt: Math.min(state.nextAt, within.now) })]]
  }
}

function stateIn(row: Row | undefined, { damaged }: Within): InventoryState | undefined {
  return damaged.row('key_value', row, one => storedDocument(valueOf(one), inventoryState))
}
