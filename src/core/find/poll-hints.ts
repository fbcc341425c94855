// Projects to poll because a webhook, another project's pipeline or a lost end names them. Their activity on the platform may not show it.

export interface PollHints {
  /** To be read in the next round, known or not. */
  add(projectId: number): void
  /** A webhook reported a pipeline there: to be read once, so that the project becomes known. */
  remember(projectId: number): void
  /** Those of the next round; the others wait. */
  take(): readonly number[]
}

/** Projects that are read in one round. */
const maxTaken = 20
const maxWaiting = 1_000
/** Projects that webhooks named, remembered so that each is read once. */
const maxSeen = 10_000

export function createPollHints(): PollHints {
  const waiting = new Set<number>()
  const seen = new Set<number>()
  const add = (projectId: number): void => {
    if (waiting.size < maxWaiting) waiting.add(projectId)
  }
  return {
    add,
    remember: projectId => {
      if (seen.has(projectId) || seen.size >= maxSeen) return
      seen.add(projectId)
      add(projectId)
    },
    take: () => {
      const taken = [...waiting].slice(0, maxTaken)
      for (const projectId of taken) waiting.delete(projectId)
      return taken
    },
  }
}
