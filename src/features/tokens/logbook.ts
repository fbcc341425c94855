// Writes a rotation's journal. Every change is first saved in the target and then copied to the store; only then does the rotation continue.
import type { Clock } from '../../lib/clock.ts'
import { reasonOf } from '../../lib/fault.ts'
import type { Journal, RotationStep, RotationUnderWay } from './journal.ts'
import type { RotationStore } from './rotation-store.ts'
import type { LockedTarget } from './target.ts'

/** The points at which a rotation reports progress: the journal's steps and the actions between them. */
export type ProgressPoint =
  RotationStep | 'watching' | 'recovering' | 'answered' | 'tried' | 'replaced' | 'revoked' | 'over' | 'warning'

/**
 * Receives a rotation's progress. The rotation awaits the call, so that tests can stop the process at any point. `text` is a sentence without
 * secrets.
 */
export type Progress = (point: ProgressPoint, text: string) => void | Promise<void>

export interface Logbook {
  /** The journal as last saved in the target. */
  readonly journal: Journal
  /** Saves the journal's next state, then reports progress. */
  advance(next: Journal, point: ProgressPoint, text: string): Promise<void>
  /** Reports progress that is not recorded in the journal. */
  report: Progress
  /** Reports a warning and adds it to `warnings`. */
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
      // The store has only a copy of the journal, so failing to write it does not fail the rotation.
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

/** Returns the newer of two journals: the target's or its copy in the store. Either may have been lost or restored from a backup. */
export async function newestJournal(
  beside: Journal | undefined,
  address: string,
  store: RotationStore | undefined,
): Promise<Journal | undefined> {
  const copies = (await store?.journals().catch(() => [])) ?? []
  const copy = copies.find(journal => journal.target === address)
  return copy !== undefined && copy.revision > (beside?.revision ?? -1) ? copy : beside
}
