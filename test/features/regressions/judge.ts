// A judge of regressions over a store, which nobody else judges at the same time.
import { createJudge, type Judge, type JudgeOptions } from '../../../src/features/regressions/judge-loop.ts'
import { everything, type Scope } from '../../../src/core/store/ports/scope.ts'
import { previewOf, shownRule } from '../../../src/features/regressions/preview.ts'
import { defaultRule } from '../../../src/features/regressions/rule.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { Millis } from '../../../src/model/instant.ts'
import type { Judging } from '../../../src/features/regressions/judging.ts'
import type { SharedStore, Store } from '../../../src/core/store/ports/store.ts'

export function judgeOf(store: SharedStore, options: Partial<JudgeOptions> = {}): Judge {
  return createJudge(store, {
    ...{ rule: defaultRule, readsSections: 'none', clock: systemClock, log: silentLog() },
    lease: { isMine: async () => true, release: async () => undefined },
    ...options,
  })
}

/** What the default rule would have flagged in a project, also in sections. */
export async function previewIn(store: SharedStore, projectId: number, now: Millis, scope: Scope = everything) {
  const { on } = store.reads(scope)
  const regressions = { enabled: true, slower: 25, slowerBy: 30_000, failing: 20 }
  return previewOf({ on, now: () => now }, projectId, shownRule({}, regressions), {
    regressions,
    ...{ job: { sections: ['all'] } },
  })
}

/** The store, of whose figures and runs some cannot be read by a judge. */
export function without(name: keyof Judging, store: Store): Store {
  const fails = async () => Promise.reject(new Error('read'))
  const reads: Store['reads'] = scope => {
    const found = store.reads(scope)
    return { ...found, on: make => ({ ...found.on(make), [name]: fails }) }
  }
  return { ...store, reads }
}
