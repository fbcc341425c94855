// Tests when a pipeline that the platform lists but does not return is exported.
import { describe, expect, it } from 'vitest'
import { applyFailure, type Unanswered } from '../../../src/core/complete/apply-answers.ts'
import { discover } from '../../../src/core/find/discovered-run.ts'
import { day, instance, minute, rules, second, t0 } from '../../flow/world.ts'
import type { StoredRun } from '../../../src/core/store/ports/runs.ts'

const key = { instance, pipelineId: 7 }
const withDeadline = { ...rules, enrichDeadline: 2 * minute }

/** Returns the run of a pipeline that is known only from a list. */
function listed(status: string): StoredRun {
  const item = { id: 7, project: { id: 3 }, status, updatedAt: t0 }
  const change = discover({ instance, item }, 'poller', () => 'fresh', rules).decide(undefined, t0)
  return { ...change!, firstSeenBy: { poller: t0 } }
}

/** Returns the run after requests for its pipeline have failed at these times. */
function after(known: StoredRun, why: Unanswered, ...failedAt: readonly number[]): StoredRun {
  const item = { key, detail: 'details', takenAt: t0 } as const
  return failedAt.reduce<StoredRun>(
    (run, now) => ({ ...run, ...applyFailure(item, 'fresh', why, withDeadline).decide(run, now) }),
    known,
  )
}

describe('a listed pipeline that the platform does not return', () => {
  it.each(['success', 'manual'])(
    'uses the facts from the list at once if the platform rejects the request and the status is %s',
    status => {
      const { run, timing } = after(listed(status), 'refused', t0 + second)
      expect(run.pipeline?.record.facts.status).toBe(status)
      expect(timing.dueAt).toBeDefined()
    },
  )

  it('waits for the end of an active pipeline if the platform rejects the request', () => {
    const { run, timing } = after(listed('running'), 'refused', t0 + second)
    expect([run.pipeline, timing.dueAt]).toEqual([undefined, undefined])
  })

  it('uses the facts from the list if only requests for this pipeline have failed for a quarter of an hour', () => {
    const first = t0 + second
    expect(after(listed('success'), 'failed', first, first + 15 * minute).run.pipeline).toBeUndefined()
    const { run, timing } = after(listed('success'), 'failed', first, first + 15 * minute + 1)
    expect(run.pipeline?.record.facts.status).toBe('success')
    expect(timing.dueAt).toBeDefined()
  })

  it('waits for the platform while every request fails, for up to a day', () => {
    const first = t0 + second
    expect(after(listed('success'), 'away', first, first + day).run.pipeline).toBeUndefined()
    expect(after(listed('success'), 'away', first, first + day + 1).run.pipeline).toBeDefined()
  })
})
