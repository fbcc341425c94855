// Notes about work in progress, written before it begins: if an item makes the process crash, the next process knows which one it may
// have been. Deliveries have such notes in the inbox (`inbox.ts`); runs that are settled and outbox entries that are encoded have them here.

import type { RunKey } from '../../model/observation.ts'

/** An item is given up after this many consecutive processes crashed while they worked on it alone. */
export const maxDeaths = 3

/** For one kind of work, one batch at a time. It never fails: the work is done even if the note cannot be written. */
export interface UnderWayNote {
  /** Notes that these are worked on together. Returns the suspects: a process crashed with them, so each must be begun alone. */
  begin(names: readonly string[]): Promise<readonly string[]>
  /** Returns how many consecutive processes crashed while they worked on it alone. The note is written only if these are fewer than `maxDeaths`. */
  beginAlone(name: string): Promise<number>
  /** The process has survived the work: deletes the notes. */
  end(): Promise<void>
  /** Deletes its count of crashes. */
  forget(name: string): Promise<void>
}

export interface UnderWay {
  /** By `runName`. */
  readonly settling: UnderWayNote
  /** By the outbox entry's id. */
  readonly encoding: UnderWayNote
}

/** For a store in memory, and for parts that are used without a daemon. */
export const nothingNoted: UnderWayNote = {
  begin: async () => [],
  beginAlone: async () => 0,
  end: async () => undefined,
  forget: async () => undefined,
}

export function runName({ instance, pipelineId }: RunKey): string {
  return `${instance}\n${pipelineId}`
}

/** The run of a `runName`. */
export function runOfName(name: string): RunKey {
  const [instance = '', pipelineId] = name.split('\n')
  return { instance, pipelineId: Number(pipelineId) }
}
