// What a process works on at the moment, noted before it begins: should the process die of it, the next one knows. Deliveries that
// are read have such a note in the inbox (`inbox.ts`); runs that are settled and outbox entries that are encoded have theirs here.

import type { RunKey } from '../../model/observation.ts'

/** What so many processes in a row died of while they worked on it alone is not tried again. */
export const mostDeaths = 3

/** Of one kind of work, of which one piece is done at a time. It never fails: what cannot be noted is done all the same. */
export interface UnderWayNote {
  /**
   * From now on these are worked on together. Answers those of them that are not: a process died while it had them. Each of these is
   * to be begun alone.
   */
  begin(names: readonly string[]): Promise<readonly string[]>
  /** Answers how many processes in a row died while they had it alone. It is begun where these are fewer than `mostDeaths`. */
  beginAlone(name: string): Promise<number>
  /** Nothing is worked on any more, and the process lives: none of it kills. */
  end(): Promise<void>
  /** Its deaths count no longer: something else became of it. */
  forget(name: string): Promise<void>
}

export interface UnderWay {
  /** By `runName`. */
  readonly settling: UnderWayNote
  /** By the outbox entry's id. */
  readonly encoding: UnderWayNote
}

/** Where nothing is noted: for a store in memory, and for parts that are used without a daemon. */
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
