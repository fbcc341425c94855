// Projects that the poller has been pointed to from elsewhere: another project's pipeline, a webhook, a lost end. What moves no
// activity is found so.

export interface PollHints {
  /** To be looked at in the next round, known or not. */
  add(projectId: number): void
  /** A webhook told of a pipeline there: to be looked at once, so that it becomes known. */
  meet(projectId: number): void
  /** Those of the next round; the others wait. */
  take(): readonly number[]
}

/** Projects that are looked at in one round. */
const mostTaken = 20
const mostWaiting = 1_000
/** Projects that webhooks told of, remembered so that each is met once. */
const mostMet = 10_000

export function createPollHints(): PollHints {
  const waiting = new Set<number>()
  const met = new Set<number>()
  const add = (projectId: number): void => {
    if (waiting.size < mostWaiting) waiting.add(projectId)
  }
  return {
    add,
    meet: projectId => {
      if (met.has(projectId) || met.size >= mostMet) return
      met.add(projectId)
      add(projectId)
    },
    take: () => {
      const taken = [...waiting].slice(0, mostTaken)
      for (const projectId of taken) waiting.delete(projectId)
      return taken
    },
  }
}
