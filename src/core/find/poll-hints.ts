// The projects to poll in the next round because a webhook named them, a pipeline of another project triggered one of their pipelines, or one of their
// webhooks was lost. The platform's last-activity time of these projects may not reflect what happened. A hint remains until the project has been
// read, so that an outage of the platform loses none.

/** The maximum number of hinted projects that are read in one round. */
const maxPerRound = 20
const maxWaiting = 1_000
/** The maximum number of project IDs from webhooks that are remembered, so that a webhook makes a project due only once. */
const maxSeen = 10_000

export interface PollHints {
  /** Adds a project, whether it is already known or not. */
  add(projectId: number): void
  /** Records that a webhook reported a pipeline in the project. The project is read once, so that it becomes known. */
  remember(projectId: number): void
  /** Returns the hinted projects to read in this round: of those that are due, the ones that have waited longest. They remain hinted. */
  next(isDue: (projectId: number) => boolean): readonly number[]
  /** Removes a hint, because the project is read now. Returns whether there was one: if the read fails, the hint must be added again. */
  take(projectId: number): boolean
}

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
    next: isDue => [...waiting].filter(isDue).slice(0, maxPerRound),
    take: projectId => waiting.delete(projectId),
  }
}
