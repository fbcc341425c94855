// Keeps a rotation's journal: every change is beside the target before anything else is done, and then in the store.
import type { Clock } from '../lib/clock.ts'
import { reasonOf } from '../lib/fault.ts'
import type { Journal, RotationStep, RotationUnderWay } from './journal.ts'
import type { RotationStore } from './rotation-store.ts'
import type { LockedTarget } from './target.ts'

/** What a rotation reports while it goes on: the journal's steps, and the acts between them. */
export type ProgressPoint =
  RotationStep | 'watching' | 'recovering' | 'answered' | 'tried' | 'replaced' | 'revoked' | 'over' | 'warning'

/** The rotation waits for it, so a test can stop the process at any point. `text` is a sentence without secrets. */
export type Progress = (point: ProgressPoint, text: string) => void | Promise<void>

export interface Logbook {
  /** The journal as it stands beside the target. */
  readonly journal: Journal
  /** Writes the next state down, then reports it. */
  advance(next: Journal, point: ProgressPoint, text: string): Promise<void>
  /** Reports what the journal need not hold. */
  report: Progress
  /** A warning, reported now and answered by `warnings` at the end. */
  warn(text: string): Promise<void>
  readonly warnings: readonly string[]
}

export function createLogbook(
  opened: Journal,
  target: LockedTarget,
  store: RotationStore | undefined,
  clock: Clock,
  progress: Progress,
): Logbook {
  let journal = opened
  let storeFailed = false
  const warnings: string[] = []

  async function warn(text: string): Promise<void> {
    warnings.push(text)
    await progress('warning', text)
  }

  async function copy(former: RotationUnderWay | undefined): Promise<void> {
    if (store === undefined) return
    try {
      await store.saveJournal(journal)
      const rotation = journal.rotation ?? former
      if (rotation === undefined) return
      await store.recordRotation({
        id: rotation.id,
        target: journal.target,
        name: rotation.name,
        startedAt: rotation.startedAt,
        updatedAt: clock.now(),
        state: journal.rotation?.step ?? endOf(journal, rotation),
        ...(rotation.token === undefined
          ? {}
          : { tokenId: rotation.token.id, fingerprint: rotation.token.fingerprint }),
      })
    } catch (error) {
      // The store's is the second copy: a rotation does not stop for it.
      if (!storeFailed) await warn(`The store could not be written: ${reasonOf(error)}`)
      storeFailed = true
    }
  }

  return {
    get journal() {
      return journal
    },
    get warnings() {
      return warnings
    },
    report: progress,
    warn,
    advance: async (next, point, text) => {
      const former = journal.rotation
      const revised = { ...next, revision: journal.revision + 1 }
      await target.save(revised)
      journal = revised
      await copy(former)
      await progress(point, text)
    },
  }
}

function endOf(journal: Journal, rotation: RotationUnderWay): 'done' | 'rolled back' {
  return rotation.token !== undefined && journal.current?.id === rotation.token.id ? 'done' : 'rolled back'
}

/** Of the journal beside the target and the store's copy the newer one: either can have been lost or restored. */
export async function newestJournal(
  beside: Journal | undefined,
  address: string,
  store: RotationStore | undefined,
): Promise<Journal | undefined> {
  const copies = (await store?.journals().catch(() => [])) ?? []
  const copy = copies.find(journal => journal.target === address)
  return copy !== undefined && copy.revision > (beside?.revision ?? -1) ? copy : beside
}
