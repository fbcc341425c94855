// The documents of discovery, the inventory and features that a scope sees. Each kind is a short list that is read whole, so they are chosen here and
// not by the database: by the latest path of their project where its id is known, else by all paths that they have.
import { textWithin } from '../ports/scope.ts'
import { pointsWithin } from '../ports/gauge-documents.ts'
import type { InventoryState } from '../ports/inventory-documents.ts'
import type { Reading } from '../sql/reading.ts'
import type { Reads } from '../ports/reads.ts'
import type { Repositories, ShownTo, Subject } from '../ports/repository.ts'

export function shownDocumentsOf(
  { scope, pathOf }: Pick<Reading, 'scope' | 'pathOf'>,
  all: Repositories,
): Reads['repositories'] {
  if (scope.bounds === 'none') return all

  async function isShown({
    instance,
    projectId,
    paths = [],
  }: Subject & { readonly instance: string }): Promise<boolean> {
    const named = await Promise.all(
      paths.map(async path => (path !== undefined && /^\d+$/.test(path) ? pathOf(instance, Number(path)) : path)),
    )
    const known = projectId === undefined ? undefined : await pathOf(instance, projectId)
    const found = known === undefined ? named.filter(path => path !== undefined) : [known]
    return found.length > 0 && found.every(path => scope.sees({ instance, path }))
  }

  /** Those whose subject is shown. */
  const about = <T extends { readonly instance: string }>(
    documents: { all(): Promise<readonly T[]> },
    subjectOf: (one: T) => Subject,
  ): { all(): Promise<readonly T[]> } => ({
    all: async () => {
      const found = await documents.all()
      const shown = await Promise.all(found.map(async one => isShown({ instance: one.instance, ...subjectOf(one) })))
      return found.filter((_, at) => shown[at])
    },
  })

  /** Of no project: the state of the daemon, of tokens and of destinations. */
  const ofNone = <T>(documents: { all(): Promise<readonly T[]> }): { all(): Promise<readonly T[]> } => ({
    all: async () => (scope.bounds === 'hidden' ? documents.all() : []),
  })

  const shownBy = <T>(
    { about: subjectOf, within }: ShownTo<T>,
    documents: { all(): Promise<readonly T[]> },
  ): { all(): Promise<readonly T[]> } => ({
    all: async () => {
      const found = await documents.all()
      const shown = await Promise.all(found.map(async one => isShown(subjectOf(one))))
      return found.flatMap((one, at) => {
        const seen = shown[at] === true ? (within === undefined ? one : within(one, scope)) : undefined
        return seen === undefined ? [] : [seen]
      })
    },
  })

  return {
    polledProjects: about(all.polledProjects, ({ project, path }) =>
      typeof project === 'number' ? { projectId: project, paths: [path] } : { paths: [path, project] },
    ),
    sweeps: about(all.sweeps, ({ group }) => ({ paths: [group] })),
    hooks: about(all.hooks, ({ kind, owner }) => (kind === 'group' ? ofGroup(owner) : { paths: [owner] })),
    refusedEndpoints: {
      all: async () => {
        const shown = await about(all.refusedEndpoints, ({ project, path }) =>
          project > 0 ? { projectId: project, paths: [path] } : { paths: [path ?? ''] },
        ).all()
        // Without a project it is about all of them, and its message may name any.
        return shown
          .filter(({ project }) => project > 0 || scope.bounds === 'hidden')
          .map(one => (one.project > 0 ? one : { ...one, message: textWithin(scope, one.message) }))
      },
    },
    inventoryStates: {
      all: async () =>
        (await about(all.inventoryStates, subjectOfState).all()).map(one =>
          one.refusal === undefined || isOfProject(one)
            ? one
            : { ...one, refusal: { ...one.refusal, message: textWithin(scope, one.refusal.message) } },
        ),
    },
    gaugeReadings: {
      all: async () => {
        const shown = await about(all.gaugeReadings, ({ project, group, of }) =>
          project === undefined ? { paths: [group ?? '', of] } : { projectId: project.id, paths: [project.path] },
        ).all()
        if (scope.bounds === 'own') return shown.filter(({ project }) => project !== undefined)
        return shown.map(one => ({ ...one, points: pointsWithin(scope, one) }))
      },
    },
    ownPipelines: ofNone(all.ownPipelines),
    budgets: ofNone(all.budgets),
    of: kind => (kind.shown === undefined ? ofNone(all.of(kind)) : shownBy(kind.shown, all.of(kind))),
  }
}

/** A group that is configured by its id may be any. */
function ofGroup(owner: string): Subject {
  return { paths: /^\d+$/.test(owner) ? [] : [owner] }
}

function isOfProject({ owner }: InventoryState): boolean {
  return owner?.project !== undefined
}

function subjectOfState({ of, owner }: InventoryState): Subject {
  const { project, group } = owner ?? {}
  if (project !== undefined) return { projectId: project.id, paths: [of, project.path] }
  return { paths: [of, group?.path] }
}
