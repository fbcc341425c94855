// Hides projects (PIPESPAN_PAGES_HIDE) from the pages and the JSON API, as if they did not exist. Everything that they read comes
// through this one wrapper. Their names are also removed from the texts of other projects, because the errors of backends and of the
// platform name projects by their paths.
import { createHiddenWords } from '../../web/hidden-words.ts'
import { isEvent } from '../../model/event.ts'
import type { EventChunk } from '../../model/event.ts'
import type { DeadLetter, Outbox } from '../../store/ports/outbox.ts'
import type { PagesSources, ReadLog } from '../ports.ts'
import type { ProjectFacts } from '../../model/observation.ts'
import type { ShownDeployment } from '../../store/ports/deployments.ts'
import type { ShownIncident } from '../../store/ports/incidents.ts'
import type { StoredRun } from '../../store/ports/runs.ts'
import type { TrendReads } from '../../store/ports/trends.ts'
import type { WatchedHook } from '../../store/ports/discovery-documents.ts'

/** How many entries of a list are read at most to find enough that may be shown. */
const maxLookedAt = 2_000
/** How many further pages of a search are read to fill a page from which hidden projects were left out. */
const maxPages = 10
/** Dead letters that are retried or dropped at a time. */
const actedOn = 1_000

interface Hidden {
  readonly isHidden: (path: string) => boolean
  /** Whether a path in a text is removed; undefined: that of any hidden project. */
  readonly isNamed?: ((path: string) => boolean) | undefined
  /** For people who may only see some projects: totals leave out all others, too. */
  readonly isBound?: boolean
}

/**
 * The same sources without hidden projects and their names. Totals over all projects still include them, as they name none, except for people who
 * are bound to projects; sums over a group do not, because a group may consist of one shown and one hidden project.
 */
export function withoutHidden(
  parts: PagesSources,
  { isHidden, isNamed: isRemoved = isHidden, isBound = false }: Hidden,
): PagesSources {
  const { views, runs, outbox: exports, inbox, tests, deployments, incidents, changes } = parts
  const { polledProjects, sweeps, hooks, refusedEndpoints, auditCursors, inventoryStates, gaugeReadings, regressions } =
    parts.repositories
  const words = createHiddenWords(isRemoved)
  const isHiddenProject = ({ path, name }: ProjectFacts): boolean => isHidden(path ?? name ?? '')
  const isShown = ({ run }: StoredRun): boolean => !isHiddenProject(run.project.facts)
  // The key stays unchanged, because further reads need it.
  const clean = (stored: StoredRun): StoredRun => ({
    ...words.without(stored),
    run: { ...words.without(stored.run), key: stored.run.key },
  })
  const shown = (found: readonly StoredRun[]): StoredRun[] => found.filter(isShown).map(clean)
  const one = (found: StoredRun | undefined): StoredRun | undefined =>
    found !== undefined && isShown(found) ? clean(found) : undefined
  /** Sums over all projects have an empty project. */
  const line = ({ project }: { readonly project: string }): boolean => project === '' || !isHidden(project)
  const ofShownIncident = ({ incident }: ShownIncident): boolean => !isHiddenProject(incident.project)
  const ofShownDeployment = ({ deployment }: ShownDeployment): boolean => !isHiddenProject(deployment.project)
  const isCounted = (path: string): boolean => !isHidden(path)
  /** A list that is filled to its limit, although hidden projects are left out of it. */
  const filled = async <T>(
    list: (limit: number) => Promise<readonly T[]>,
    limit: number,
    isShown: (one: T) => boolean,
  ): Promise<readonly T[]> => enough(list, limit, found => words.without(found.filter(isShown)))
  const runsOf = async (list: (limit: number) => Promise<readonly StoredRun[]>, limit: number) =>
    enough(list, limit, shown)

  function shownEvents(found: readonly EventChunk[]): EventChunk[] {
    return found
      .filter(({ project, group }) => (project === undefined ? !isHidden(group ?? '') : !isHiddenProject(project)))
      .map(chunk => ({ ...chunk, event: words.without(chunk.event) }))
  }

  async function letterIsShown({ id, instance, pipelineId }: DeadLetter): Promise<boolean> {
    const found = pipelineId === undefined ? undefined : await runs.get({ instance, pipelineId })
    if (found !== undefined) return isShown(found)
    // The run was pruned, or it is an event: the chunk still knows the project.
    const chunk = (await exports.deadLetter(id))?.chunk
    if (chunk === undefined) return false
    if (chunk.project !== undefined) return !isHiddenProject(chunk.project)
    return !isEvent(chunk) || !isHidden(chunk.group ?? '')
  }

  async function shownLetters(letters: readonly DeadLetter[]): Promise<DeadLetter[]> {
    const flags = await Promise.all(letters.map(letterIsShown))
    return letters.filter((_, index) => flags[index])
  }

  /** Acts only on dead letters that are shown, also when they are given by id. */
  const onShown =
    (act: Outbox['retryDead']): Outbox['retryDead'] =>
    async ids => {
      if (ids !== 'all') {
        const letters = await Promise.all(ids.map(async id => (await exports.deadLetter(id))?.letter))
        const chosen = await shownLetters(letters.filter(letter => letter !== undefined))
        return chosen.length === 0 ? 0 : act(chosen.map(({ id }) => id))
      }
      let count = 0
      for (;;) {
        const letters = await enough(async more => exports.deadLetters(more), actedOn, shownLetters)
        const done = letters.length === 0 ? 0 : await act(letters.map(({ id }) => id))
        if (done === 0) return count
        count += done
      }
    }

  /** A name may span several coloured parts of a line: a line with a hidden name loses its colours. */
  function shownLog(read: ReadLog): ReadLog {
    if (read.as !== 'log') return words.without(read)
    const lines = read.lines.map(line => {
      const text = line.runs.map(run => run.text).join('')
      return words.names(text) ? { ...line, runs: [{ text: words.without(text) }] } : line
    })
    return { ...read, sections: words.without(read.sections), lines }
  }

  const { jobLog, countBehind, configStatus } = parts
  return {
    ...parts,
    countBehind: countBehind && (async of => words.without(await countBehind(of))),
    jobLog: jobLog && (async job => shownLog(await jobLog(job))),
    preview: async (...asked) => {
      const found = await parts.preview(...asked)
      return found !== undefined && line(found) ? words.without(found) : undefined
    },
    queues: async () => words.without(await parts.queues()),
    configStatus: configStatus && (() => words.without(configStatus())),
    flow: () => words.without(parts.flow()),
    exported: some => words.without(parts.exported(some)),
    inbox: {
      ...inbox,
      // The project of a delivery that could not be read is unknown.
      listQuarantined: async limit => (isBound ? [] : words.without(await inbox.listQuarantined(limit))),
    },
    repositories: {
      ...parts.repositories,
      polledProjects: { all: async () => (await polledProjects.all()).filter(isUnnamed) },
      refusedEndpoints: { all: async () => (await refusedEndpoints.all()).filter(isUnnamed) },
      // A project may be configured by its id: then its path is in `owner`, or in the platform's message.
      inventoryStates: {
        all: async () =>
          (await inventoryStates.all()).filter(({ of, owner, refusal }) => !namesHidden({ of, owner, refusal })),
      },
      gaugeReadings: {
        all: async () =>
          (await gaugeReadings.all())
            .filter(({ project, group, of }) =>
              isBound ? project !== undefined && !isHiddenProject(project) : !namesHidden({ project, group, of }),
            )
            .map(one => ({ ...one, points: words.without(one.points) })),
      },
      sweeps: { all: async () => (await sweeps.all()).filter(isUnnamed) },
      auditCursors: { all: async () => (await auditCursors.all()).filter(isUnnamed) },
      hooks: { all: shownHooks },
      regressions: { all: async () => words.without((await regressions.all()).filter(line)) },
    },
    runs: { get: async key => one(await runs.get(key)) },
    tests: {
      figures: async (question, of) => filled(async limit => tests.figures(question, { ...of, limit }), of.limit, line),
      flakyTime: async of => (await tests.flakyTime(of)).filter(line),
      flakyDays: async of => tests.flakyDays(of.project === undefined && !isBound ? of : { ...of, isCounted }),
    },
    incidents: {
      opened: async of => filled(async limit => incidents.opened({ ...of, limit }), of.limit, ofShownIncident),
      open: async of => filled(async limit => incidents.open({ ...of, limit }), of.limit, ofShownIncident),
    },
    deployments: {
      list: async of => filled(async limit => deployments.list({ ...of, limit }), of.limit, ofShownDeployment),
      current: async of => filled(async limit => deployments.current({ ...of, limit }), of.limit, ofShownDeployment),
    },
    changes: {
      list: async of =>
        filled(
          async limit => changes.list({ ...of, limit }),
          of.limit,
          one => !isHiddenProject(one.change.project),
        ),
      states: async () => words.without((await changes.states()).filter(({ project }) => !isHiddenProject(project))),
    },
    outbox: {
      retryDead: onShown(async ids => exports.retryDead(ids)),
      dropDead: onShown(async ids => exports.dropDead(ids)),
      deadLetters: async limit => {
        const letters = await enough(async more => exports.deadLetters(more), limit, shownLetters)
        return words.without(letters)
      },
      deadLetter: async id => {
        const found = await exports.deadLetter(id)
        if (found === undefined || !(await letterIsShown(found.letter))) return undefined
        const { letter, chunk } = found
        const isOfEvent = chunk !== undefined && isEvent(chunk)
        return {
          letter: words.without(letter),
          chunk: isOfEvent ? { ...chunk, event: words.without(chunk.event) } : chunk,
        }
      },
    },
    views: {
      ...views,
      audit: async (...asked) => {
        const page = await views.audit(...asked)
        return { ...page, events: shownEvents(page.events) }
      },
      shownEvents: async query =>
        enough(async limit => views.shownEvents({ ...query, limit }), query.limit, shownEvents),
      inStatus: async (statuses, limit) => runsOf(async more => views.inStatus(statuses, more), limit),
      countInStatus: async statuses => views.countInStatus(statuses, isCounted),
      countFinished: async since => views.countFinished(since, isCounted),
      silentInStatus: async (statuses, since, limit) => {
        let count = 0
        const runs = await runsOf(async more => {
          const found = await views.silentInStatus(statuses, since, more)
          count = found.count
          return found.runs
        }, limit)
        // A full list keeps the count of the store, which includes hidden projects: counting exactly would mean reading all of them.
        return { runs, count: runs.length < limit || isBound ? runs.length : count }
      },
      countRuns: async query => views.countRuns(query, isCounted),
      lastFinished: async limit => runsOf(async more => views.lastFinished(more), limit),
      search: async query => {
        let page = await views.search(query)
        const found = shown(page.runs)
        // Fill the page, although hidden projects were left out.
        for (let more = 0; more < maxPages && found.length < query.limit && page.next !== undefined; more += 1) {
          page = await views.search({ ...query, after: page.next, limit: query.limit - found.length })
          found.push(...shown(page.runs))
        }
        return { ...page, runs: found }
      },
      projects: async limit => filled(async more => views.projects(more), limit, isCounted),
      find: async (projectId, pipelineId, instance) => one(await views.find(projectId, pipelineId, instance)),
      children: async key => shown(await views.children(key)),
      sections: async (...asked) => words.without(await views.sections(...asked)),
      tests: async (...asked) => words.without(await views.tests(...asked)),
      outboxOf: async key => words.without(await views.outboxOf(key)),
      costs: {
        lines: async (by, query, limit) =>
          filled(
            async more =>
              views.costs.lines(by, query.group === undefined && !isBound ? query : { ...query, isCounted }, more),
            limit,
            line,
          ),
        retained: async query =>
          words.without(
            await views.costs.retained({
              ...query,
              isCounted: path => !isHidden(path) && (query.isCounted?.(path) ?? true),
            }),
          ),
      },
      trends: {
        ...views.trends,
        ...shownFigures(views.trends),
        extent: async subject => {
          const found = await views.trends.extent(subject)
          return found !== undefined && line(found) ? found : undefined
        },
        paths: async limit => filled(async more => views.trends.paths(more), limit, isCounted),
        places: async (query, limit) => filled(async more => views.trends.places(query, more), limit, line),
        names: async (query, limit) => filled(async more => views.trends.names(query, more), limit, line),
        retained: async query => {
          const found = await views.trends.retained({ ...query, isCounted })
          return { ...found, figures: shownFigures(found.figures) }
        },
      },
    },
  }

  function shownFigures(trends: TrendReads): TrendReads {
    return {
      series: async (subject, query) =>
        words.without(
          (
            await trends.series(subject, query.group === undefined && !isBound ? query : { ...query, isCounted })
          ).filter(line),
        ),
      projects: async (by, query, limit) => filled(async more => trends.projects(by, query, more), limit, line),
      jobs: async (by, query, limit) => filled(async more => trends.jobs(by, query, more), limit, line),
      ofJobs: async (...asked) => words.without((await trends.ofJobs(...asked)).filter(line)),
    }
  }

  /** Whether a document names no hidden project. Its `instance` is not checked. */
  function isUnnamed({ instance: _, ...rest }: { readonly instance: string }): boolean {
    return !namesHidden(rest)
  }

  function namesHidden(value: unknown): boolean {
    if (typeof value === 'string') return isHidden(value) || words.names(value)
    return typeof value === 'object' && value !== null && Object.values(value).some(namesHidden)
  }

  /** An owner may be configured by path or by id. For ids, the poller's cursors know the path. */
  async function shownHooks(): Promise<readonly WatchedHook[]> {
    const projects = await polledProjects.all()
    const hidden = new Set(
      projects.filter(one => !isUnnamed(one)).map(({ instance, project }) => `${instance} ${project}`),
    )
    return (await hooks.all()).filter(
      hook => isUnnamed(hook) && (hook.kind === 'group' || !hidden.has(`${hook.instance} ${hook.owner}`)),
    )
  }
}

/** Asks for four times as many again and again, until `limit` of them may be shown or there are no more. */
async function enough<T>(
  ask: (limit: number) => Promise<readonly T[]>,
  limit: number,
  shown: (some: readonly T[]) => readonly T[] | Promise<readonly T[]>,
): Promise<readonly T[]> {
  for (let asked = limit; ; asked *= 4) {
    const found = await ask(asked)
    const left = await shown(found)
    if (left.length >= limit || found.length < asked || asked >= maxLookedAt) return left.slice(0, limit)
  }
}
