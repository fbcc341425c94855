// Small documents that outlive the process and are shared by replicas and commands. Each kind has a repository. One owner writes to it, and all
// others only read it.
import { z } from 'zod'
import { apiBudget, ownPipelines, polledProject, sweep, watchedHook, refusedEndpoint } from './discovery-documents.ts'
import { gaugeReading, inventoryState, pointsWithin, recentRuns } from './gauge-documents.ts'
import { textWithin, type Scope } from './scope.ts'
import type { Millis } from '../../../model/instant.ts'

// The endpoint to which a destination sends one signal. Pending entries were accepted for that endpoint, and not for another endpoint that is later
// configured under the same name.
const endpoint = z.object({
  /** A hash by which endpoints are compared. */
  mark: z.string(),
  /** The endpoint as shown to people; empty for an endpoint that is a secret. */
  shown: z.string(),
})

const exportEndpoint = z.object({
  destination: z.string(),
  signal: z.string(),
  ...endpoint.shape,
  /** The earlier endpoints, newest first. */
  former: z.array(endpoint),
})
export type ExportEndpoint = z.infer<typeof exportEndpoint>

/** A repository of documents. `Key` lists the fields that identify a document. */
export interface Repository<Document extends object, Key extends keyof Document> {
  /** Returns a document; undefined if there is none, or if it is damaged. In both cases its owner writes a new one. */
  get(key: Pick<Document, Key>): Promise<Document | undefined>
  /** Returns the documents in key order, without damaged ones. `onDamaged` is called with the name of each damaged document. */
  all(onDamaged?: (name: string) => void): Promise<readonly Document[]>
  put(document: Document): Promise<void>
  remove(key: Pick<Document, Key>): Promise<void>
  /** Deletes expired and damaged documents. `now` is the time on the store's clock. */
  prune(isOver: (document: Document, now: Millis) => boolean): Promise<void>
  /**
   * Changes one document under a lock. `change` must be pure, because it may be called more than once. If it returns no document, the document is
   * deleted. `now` is the time on the store's clock.
   */
  change<T>(
    key: Pick<Document, Key>,
    change: (known: Document | undefined, now: Millis) => Change<Document, T>,
  ): Promise<T>
  /** Returns the time on the store's clock. */
  now(): Promise<Millis>
}

export interface Change<Document, T> {
  readonly document: Document | undefined
  readonly result: T
}

/** The interface of a repository for all code other than its owner. */
export type Readable<R extends { readonly all: unknown }> = Pick<R, 'all'>

/** The subject of a document: the ids or paths of projects and groups. */
export interface Subject {
  readonly projectId?: number | undefined
  /**
   * The full paths of the projects and groups or, as strings, their ids, because the configuration may use either. If empty, the document concerns
   * the whole instance.
   */
  readonly paths?: readonly (string | undefined)[] | undefined
}

/** A kind of document in the key-value table. Each feature declares the kinds that it stores. */
export interface DocumentKind<Document extends object, Key extends keyof Document> {
  /** The prefix of the documents' names in the key-value table. */
  readonly kind: string
  readonly shape: z.ZodType<Document>
  readonly key: readonly Key[]
  readonly shown?: ShownTo<Document> | undefined
}

/** Defines who may see a document. Without it, people with access to only some projects see no document of this kind. */
export interface ShownTo<Document> {
  readonly about: (document: Document) => Subject & { readonly instance: string }
  /** Returns the part of a document for a reader who may see its subject; undefined if the reader may see none of it. Default: the whole document. */
  readonly within?: (document: Document, scope: Scope) => Document | undefined
}

export function documentKind<Document extends object, const Key extends keyof Document>(
  kind: string,
  shape: z.ZodType<Document>,
  key: readonly Key[],
  shown?: ShownTo<Document>,
): DocumentKind<Document, Key> {
  return { kind, shape, key, shown }
}

type MakeRepository = <Document extends object, Key extends keyof Document>(
  kind: string,
  shape: z.ZodType<Document>,
  key: readonly Key[],
  shown?: ShownTo<Document>,
) => Repository<Document, Key>

/** All document kinds of the core. Unless noted, times in these documents are on the store's clock. */
export function repositoriesOf(make: MakeRepository) {
  return {
    /** The state of each polled project. The poller writes it. */
    polledProjects: make('poll/project', polledProject, ['instance', 'project'], {
      about: ({ instance, project, path }) =>
        typeof project === 'number'
          ? { instance, projectId: project, paths: [path] }
          : { instance, paths: [path, project] },
    }),
    ownPipelines: make('poll/own', ownPipelines, ['instance']),
    sweeps: make('poll/sweep', sweep, ['instance', 'group'], {
      about: ({ instance, group }) => ({ instance, paths: [group] }),
    }),
    /** The state of webhooks on the platform. The redelivery reader writes it. */
    hooks: make('hook', watchedHook, ['instance', 'kind', 'id'], {
      // A group that is configured by its id may be any group, so its path is unknown here.
      about: ({ instance, kind, owner }) => ({
        instance,
        paths: kind === 'group' && /^\d+$/.test(owner) ? [] : [owner],
      }),
    }),
    /** The API budget of each token. The API client writes it. */
    budgets: make('budget', apiBudget, ['account']),
    /** The requests that the platform rejected. Each part of the daemon that reads from the platform records the rejections that it receives. */
    refusedEndpoints: make('refused', refusedEndpoint, ['instance', 'what', 'project'], {
      about: ({ instance, project, path }) =>
        project > 0 ? { instance, projectId: project, paths: [path] } : { instance, paths: [path ?? ''] },
      // A rejection without a project concerns all projects, and its message may name any of them.
      within: (one, scope) => {
        if (one.project > 0) return one
        return scope.bounds === 'hidden' ? { ...one, message: textWithin(scope, one.message) } : undefined
      },
    }),
    /**
     * The metric names in the reports of a project's jobs, in the order in which they were first seen. Users choose these names, and each becomes a
     * metric, so the number of names is limited.
     */
    reportedNames: make(
      'reported-names',
      z.object({ instance: z.string(), project: z.number(), names: z.array(z.string()) }),
      ['instance', 'project'],
    ),
    /** The gauge readings. The inventory writes them. */
    gaugeReadings: make('gauges', gaugeReading, ['instance', 'kind', 'of'], {
      about: ({ instance, project, group, of }) =>
        project === undefined
          ? { instance, paths: [group ?? '', of] }
          : { instance, projectId: project.id, paths: [project.path] },
      within: (one, scope) => {
        if (scope.bounds === 'own') return one.project === undefined ? undefined : one
        return { ...one, points: pointsWithin(scope, one) }
      },
    }),
    inventoryStates: make('inventory', inventoryState, ['instance', 'kind', 'of'], {
      about: ({ instance, of, owner: { project, group } = {} }) =>
        project === undefined
          ? { instance, paths: [of, group?.path] }
          : { instance, projectId: project.id, paths: [of, project.path] },
      within: (one, scope) => {
        const { refusal, owner } = one
        if (refusal === undefined || owner?.project !== undefined) return one
        return { ...one, refusal: { ...refusal, message: textWithin(scope, refusal.message) } }
      },
    }),
    /**
     * The sessions that were logged out. The pages write them. `digest` is the HMAC of the session's id, keyed with the admin token, so that no
     * cookie can be read from the store.
     */
    sessions: make('session', z.object({ digest: z.string(), until: z.number() }), ['digest']),
    /** The endpoint for which the pending entries of a destination and signal are meant. A daemon writes it when it starts to send. */
    exportEndpoints: make('export/endpoint', exportEndpoint, ['destination', 'signal']),
    /** The recent series of active runs, in a single document. The metric flush writes it. */
    recentRuns: make('metrics/recent-runs', recentRuns, []),
    /**
     * The state of an unfinished copy, in a single document. `pipespan store copy` writes it into the source. A daemon that starts on the source
     * deletes it, because the copy can no longer be resumed.
     */
    copy: make('store-copy', z.object({ holder: z.string() }), []),
    /** Returns the documents of a feature. */
    of: <Document extends object, Key extends keyof Document>({
      kind,
      shape,
      key,
      shown,
    }: DocumentKind<Document, Key>) => make(kind, shape, key, shown),
  } as const
}

export type Repositories = ReturnType<typeof repositoriesOf>
