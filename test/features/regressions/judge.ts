// Creates a regression judge on a store that no other judge uses at the same time.
import { createJudge, type Announce, type Judge } from '../../../src/features/regressions/judge-loop.ts'
import { everything, type Scope } from '../../../src/core/store/ports/scope.ts'
import { previewOf, shownRule } from '../../../src/features/regressions/preview.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { Millis } from '../../../src/model/instant.ts'
import type { Judging } from '../../../src/features/regressions/judging.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

export const defaults = { enabled: true, slower: 25, slowerBy: 30_000, failing: 20 }

/** Creates a judge. `sections` is the option that selects the jobs whose sections are read, such as `['all']`. */
export function judgeOf(
  store: Store,
  sections: readonly string[] = [],
  announce: Announce = async () => undefined,
): Judge {
  const options = { regressions: defaults, job: { sections } }
  return createJudge(options, { store, clock: systemClock, log: silentLog() }, announce)
}

/** Returns the regressions that the default rule would have flagged in a project, including those of the sections of its jobs. */
export async function previewIn(store: Store, projectId: number, now: Millis, scope: Scope = everything) {
  const { on } = store.reads(scope)
  return previewOf({ on, now: () => now }, { projectId }, shownRule({}, defaults), {
    regressions: defaults,
    ...{ job: { sections: ['all'] } },
  })
}

/** Returns a store in which one of the judge's reads always fails. */
export function without(name: keyof Judging, store: Store): Store {
  const fails = async () => Promise.reject(new Error('read'))
  const reads: Store['reads'] = scope => {
    const found = store.reads(scope)
    return { ...found, on: make => ({ ...found.on(make), [name]: fails }) }
  }
  return { ...store, reads }
}
