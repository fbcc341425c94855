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
    onEvent: ({ touchesCi = false, project }) => {
      // The project is compared with the configured names in lower case, because the platform ignores case in paths.
      const own = [project?.path?.toLowerCase(), project?.id.toString()]
      return reportsBy(includesRefresh, touchesCi ? named.filter(name => own.includes(name.toLowerCase())) : [])
    },
  }
}

/** Makes the inventory request the includes of these projects at once. A report is the name of a project, spelled as in the configuration. */
const includesRefresh: Reporter<string> = { order: 150, write: makeDue }

/**
 * Stored inventory states have names of the form `inventory SCOPE KIND OF`. The scopes are not known here, so the statement selects the names of all
 * states. It does not select the values, because the dependencies of a single project may take hundreds of kilobytes.
 */
const selectNames = "SELECT name FROM key_value WHERE substr(name, 1, 10) = 'inventory '"
const nameIn = text('name')

function* makeDue(names: readonly string[], within: Within): Steps<void> {
  const ends = names.map(of => ` ${includes.kind} ${of}`)
  const listed = (yield [selectNames, []]).map(row => nameIn(row))
  const keys = listed.filter(name => ends.some(end => name.endsWith(end))).sort()
  yield* lockNames(keys, within)
  for (const name of keys) {
    const [row] = yield [selectValue, [name]]
    const state = stateIn(row && { ...row, name }, within)
    // The kind in the stored state is checked as well as the name, because the state of a query may have a name with the same ending.
    if (state?.kind !== includes.kind || !names.includes(state.of)) continue
    yield [writeValue, [name, JSON.stringify({ ...state, nextAt: Math.min(state.nextAt, within.now) })]]
  }
}

function stateIn(row: Row | undefined, { damaged }: Within): InventoryState | undefined {
  return damaged.row('key_value', row, one => storedDocument(valueOf(one), inventoryState))
}
