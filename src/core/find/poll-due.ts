// Selects the projects to read in a polling round: the urgent ones, and those that are due again.
import { newEntry, type BookEntry, type PollBook, type PollTurns } from './poll-book.ts'
import type { PollHints } from './poll-hints.ts'
import type { PollContext } from './poll-context.ts'
import {
  PlatformError,
  type PlatformProject,
  type ListOptions,
  type Pages,
  type PlatformClient,
} from '../../platform/port.ts'
import type { Millis } from '../../model/instant.ts'

// A list of projects that are polled: the projects of a group, or those of which the token's user is a member.
export interface ProjectList {
  /** The name of the list in logs. */
  readonly name: string
  /** The store key for the sweep of this list: the path of the configured group, or a string that cannot be a group's path. */
  readonly key: string
  readonly pages: (query: { readonly activeAfter?: Millis | undefined }, options: ListOptions) => Pages<PlatformProject>
  /** Whether the list includes a project that a webhook or a pipeline of another project named. Only listed projects are polled. */
  readonly has: (project: PlatformProject) => boolean
}

const memberProjects = "the token's projects"

/**
 * Returns the lists of projects to poll. If `members` is true, they include the projects of which the token's user is a member, and any project that
 * the token can read is polled once a webhook or a pipeline names it.
 */
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
  /** The ids or full paths of the configured projects. */
  readonly projects: readonly string[]
  readonly lists: readonly ProjectList[]
  /** Whether a project with this path may be polled. */
  readonly isOwn: (path: string | undefined) => boolean
  /** The period in ms, up to the present, that the first read of a project covers. */
  readonly lookback: number
  /** Runs the requests about one subject, and logs an error if they fail. */
  readonly trying: (subject: string, work: () => Promise<void>) => Promise<unknown>
  /** Runs the requests for a list of projects. Returns false if the platform rejected the token: it will reject requests for other lists too. */
  readonly tryingList: (subject: string, work: () => Promise<void>) => Promise<boolean>
}

export interface DueProject {
  readonly entry: BookEntry
  readonly facts?: PlatformProject
}

export interface Due {
  /**
   * Returns the urgent projects: those that the configuration names, those with recent activity or active pipelines, and those that a webhook or
   * another project's pipeline pointed to. `limit` is the number of requests after which no further list of active projects is read in this round.
   */
  urgent(book: PollBook, limit: number): Promise<DueProject[]>
  /** Returns recently active projects that were not read in the last few rounds. */
  ranLately(book: PollBook): DueProject[]
  /** Drops projects without a recent pipeline, unless the configuration names them. */
  forgetIdle(book: PollBook): Promise<void>
}

const hour = 3_600_000
/**
 * The maximum age in ms of a project's last activity for the project to count as active. The platform updates the last activity at most once an hour.
 */
const maxActivityAge = 2 * hour
/** The maximum age in ms of a project's last pipeline for the project to be read every few rounds. */
const maxPipelineAge = 14 * 24 * hour
/** Recently active projects, child pipelines and whole lookback periods are only read once in this many rounds. */
export const rareInterval = 5

export function createDue(options: DueOptions): Due {
  const { context, turns, hints, projects, lists, lookback, trying } = options
  const { client } = context

  /** The index of the list with which the next round begins. */
  let firstList = 0

  /** Returns projects in which users were recently active. */
  async function active(limit: number): Promise<PlatformProject[]> {
    const found: PlatformProject[] = []
    const inTurn = [...lists.slice(firstList), ...lists.slice(0, firstList)]
    for (const { name, pages } of inTurn) {
      if (context.requests() >= limit) break
      firstList = (firstList + 1) % lists.length
      const goesOn = await options.tryingList(name, async () => {
        const activeAfter = context.now() - maxActivityAge
        for await (const page of pages({ activeAfter }, context.call)) {
          context.observeTime(page.servedAt)
          found.push(...page.items.filter(({ archived }) => !archived))
        }
      })
      if (!goesOn) break
    }
    return found
  }

  /**
   * Looks up a hinted project that is not known yet. Returns it if it is in one of the polled lists. The hint is dropped if the project is not polled
   * or if the token may not see it. After any other error, the project is looked up again in a later round, after the other hinted projects.
   */
  async function hinted(id: number): Promise<PlatformProject | undefined> {
    hints.take(id)
    if (lists.length === 0) return undefined
    const lookup: { found?: PlatformProject; isHidden?: boolean } = {}
    await trying(`project ${id}`, async () => {
      try {
        lookup.found = await client.project(id, context.call)
      } catch (error) {
        lookup.isHidden = error instanceof PlatformError && (error.kind === 'not-found' || error.kind === 'forbidden')
        throw error
      }
    })
    const { found, isHidden } = lookup
    if (found === undefined) {
      if (isHidden !== true) hints.add(id)
      return undefined
    }
    const isListed = options.isOwn(found.path) && lists.some(list => list.has(found))
    // Paths are compared in lower case, because the platform ignores case.
    const isConfigured = projects.some(one => one.toLowerCase() === (found.path ?? '').toLowerCase())
    if (!isListed || isConfigured) return undefined
    // The hint is dropped once the project has been read: the round may end before that.
    hints.add(id)
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
      for (const id of hints.next(project => turns.isDue(project, 1))) {
        const known = book.get(id)
        if (known !== undefined) due.set(id, { entry: known })
        if (known !== undefined || due.has(id)) continue
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
      const since = context.now() - maxPipelineAge
      const due = [...book.entries()].filter(
        ({ project, ranAt }) => ranAt > since && turns.isDue(project, rareInterval),
      )
      return due.map(entry => ({ entry }))
    },
    forgetIdle: async book => {
      const named = new Set<BookEntry['project']>(projects)
      for (const { project, ranAt, active: underWay } of [...book.entries()]) {
        if (underWay.length > 0 || named.has(project) || ranAt > context.now() - maxPipelineAge) continue
        await book.drop(project)
        turns.forget(one => one === project)
      }
    },
  }
}
