// When each project was last read, in rounds, and whether it is due again.
import type { BookEntry } from './poll-book.ts'

type Project = BookEntry['project']

interface Turn {
  /** The round in which the project, and in which its children, were last asked for; -Infinity: never. */
  readonly round: number
  readonly children: number
  /** How often it failed since. */
  readonly failures: number
}

export interface PollTurns {
  /** Whether `every` rounds have passed since. After failures the pause doubles, up to an hour. */
  isDue(project: Project, every: number): boolean
  areChildrenDue(project: Project, every: number): boolean
  /** `children`: they were read too. */
  answered(project: Project, children: boolean): void
  failed(project: Project): void
  /** The round in which it was last asked for; 0: never. */
  lastRound(project: Project): number
  /** As if they had never been read. */
  forget(which: (project: Project) => boolean): void
}

const hour = 3_600_000
const never: Turn = { round: -Infinity, children: -Infinity, failures: 0 }

/** `now`: the number of the round. `interval`: between two rounds, ms. */
export function createPollTurns(now: () => number, interval: number): PollTurns {
  const turns = new Map<Project, Turn>()
  const turnOf = (project: Project): Turn => turns.get(project) ?? never
  return {
    isDue: (project, every) => {
      const { round, failures } = turnOf(project)
      const rest = failures < 2 ? every : Math.max(every, Math.min(hour / interval, 2 ** failures))
      return now() - round >= rest
    },
    areChildrenDue: (project, every) => now() - turnOf(project).children >= every,
    answered: (project, children) => {
      turns.set(project, { round: now(), children: children ? now() : turnOf(project).children, failures: 0 })
    },
    failed: project => {
      const before = turnOf(project)
      turns.set(project, { ...before, round: now(), failures: before.failures + 1 })
    },
    lastRound: project => Math.max(0, turnOf(project).round),
    forget: which => {
      for (const project of [...turns.keys()]) if (which(project)) turns.delete(project)
    },
  }
}
