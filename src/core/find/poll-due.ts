// The projects that a round of polling reads: the urgent ones, and those that are due again.
import { newEntry, type BookEntry, type PollBook, type PollTurns } from './poll-book.ts'
import type { PollContext } from './poll-context.ts'
import type { PlatformProject, ListOptions, Pages, PlatformClient } from '../../platform/port.ts'
import type { Millis } from '../../model/instant.ts'

// Projects to poll because a webhook, another project's pipeline or a lost end names them. Their activity on the platform may not show it.
interface PollHints {
  /** The project is to be read in the next round, known or not. */
  add(projectId: number): void
  /** A webhook reported a pipeline there: to be read once, so that the project becomes known. */
  remember(projectId: number): void
  /** The projects of the next round; the others wait. */
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

// The lists of projects that are polled: those of a group, or those that the token's user is a member of.
export interface ProjectList {
  /** Its name, for people. */
  readonly name: string
  /** The key of its sweep in the store: the group as configured, or a text that no group can be called. */
  readonly key: string
  readonly pages: (query: { readonly activeAfter?: Millis | undefined }, options: ListOptions) => Pages<PlatformProject>
  /** Whether the list includes a project that a webhook or another project's pipeline named, so that it is polled. */
  readonly has: (project: PlatformProject) => boolean
}

const memberProjects = "the token's projects"

/** `members`: also the projects that the token's user is a member of. A webhook or a pipeline may then name any project that the token can read. */
export function projectListsOf(client: PlatformClient, groups: readonly string[], members: boolean): ProjectList[] {
  const ofGroups = groups.map((group): ProjectList => ({
    name: `group ${group}`,
    key: group,
    pages: (query, call) => client.projects({ group }, query, call),
    has: ({ path }) => path?.toLowerCase().startsWith(`${group}/`.toLowerCase()) === true,
  }))
  const pages: ProjectList['pages'] = (query, call) => client.projects('member', query, call)
  return members ? [...ofGroups, { name: memberProjects, key: memberProjects, pages, has: () => true }] : ofGroups
}

export interface DueOptions {
  readonly context: PollContext
  readonly turns: PollTurns
  readonly hints: PollHints
  /** Ids or full paths. */
  readonly projects: readonly string[]
  readonly lists: readonly ProjectList[]
  /** Whether a project with this path may be polled. */
  readonly isOwn: (path: string | undefined) => boolean
  /** How far a project that was never read is read back, ms. */
  readonly lookback: number
  /** Runs one request's worth of work and logs its failure. */
  readonly trying: (subject: string, work: () => Promise<void>) => Promise<unknown>
  /** The same for a list of projects. False if the token was refused: it will be for other lists, too. */
  readonly tryingList: (subject: string, work: () => Promise<void>) => Promise<boolean>
}

export interface DueProject {
  readonly entry: BookEntry
  readonly facts?: PlatformProject
}

export interface Due {
  /**
   * Projects that are named in the configuration, were recently active, were hinted at, or have active pipelines. `limit`: the count of requests at
   * which no further list of active projects is read in this round.
   */
  urgent(book: PollBook, limit: number): Promise<DueProject[]>
  /** Recently active projects that were not read in the last few rounds. */
  ranLately(book: PollBook): DueProject[]
  /** Forgets projects that have not run anything for long, unless the configuration names them. */
  forgetIdle(book: PollBook): Promise<void>
}

const hour = 3_600_000
/** The platform updates a project's last activity at most once an hour. */
const activeWithin = 2 * hour
const ranWithin = 14 * 24 * hour
export const few = 5

export function createDue(options: DueOptions): Due {
  const { context, turns, hints, projects, lists, lookback, trying } = options
  const { client } = context

  /** The list that is read first in the next round. */
  let firstList = 0

  /** Projects with recent activity of users. */
  async function active(limit: number): Promise<PlatformProject[]> {
    const found: PlatformProject[] = []
    const inTurn = [...lists.slice(firstList), ...lists.slice(0, firstList)]
    for (const { name, pages } of inTurn) {
      if (context.requests() >= limit) break
      firstList = (firstList + 1) % lists.length
      const goesOn = await options.tryingList(name, async () => {
        const activeAfter = context.now() - activeWithin
        for await (const page of pages({ activeAfter }, context.call)) {
          context.observeTime(page.servedAt)
          found.push(...page.items.filter(({ archived }) => !archived))
        }
      })
      if (!goesOn) break
    }
    return found
  }

  /** The project, if it is in one of our lists. */
  async function hinted(id: number): Promise<PlatformProject | undefined> {
    let found: PlatformProject | undefined
    await trying(`project ${id}`, async () => {
      const project = await client.project(id, context.call)
      const ours = options.isOwn(project.path) && lists.some(list => list.has(project))
      // The platform ignores the case of paths.
      const path = (project.path ?? '').toLowerCase()
      if (ours && !projects.some(one => one.toLowerCase() === path)) found = project
    })
    return found
  }

  return {
    urgent: async (book, limit) => {
      const first = context.now() - lookback
      const due = new Map<BookEntry['project'], DueProject>()
      for (const project of projects) {
        if (turns.isDue(project, 1)) due.set(project, { entry: book.get(project) ?? newEntry(project, first, project) })
      }
      for (const facts of await active(limit)) {
        if (!turns.isDue(facts.id, 1)) continue
        due.set(facts.id, { entry: book.get(facts.id) ?? newEntry(facts.id, first, facts.path), facts })
      }
      for (const id of hints.take()) {
        const known = book.get(id)
        if (known !== undefined) due.set(id, { entry: known })
        if (known !== undefined || lists.length === 0 || due.has(id)) continue
        const facts = await hinted(id)
        if (facts !== undefined) due.set(id, { entry: newEntry(id, first, facts.path), facts })
      }
      for (const entry of book.entries()) {
        if (entry.active.length > 0 && turns.isDue(entry.project, 1) && !due.has(entry.project))
          due.set(entry.project, { entry })
      }
      return [...due.values()]
    },
    ranLately: book => {
      const since = context.now() - ranWithin
      const due = [...book.entries()].filter(({ project, ranAt }) => ranAt > since && turns.isDue(project, few))
      return due.map(entry => ({ entry }))
    },
    forgetIdle: async book => {
      const named = new Set<BookEntry['project']>(projects)
      for (const { project, ranAt, active: underWay } of [...book.entries()]) {
        if (underWay.length > 0 || named.has(project) || ranAt > context.now() - ranWithin) continue
        await book.drop(project)
        turns.forget(one => one === project)
      }
    },
  }
}
