// Small documents that outlive the process and are shared by replicas and commands. Each kind has a repository; one owner writes it,
// everybody else reads through it.
import { z } from 'zod'
import { apiBudget, ownPipelines, polledProject, sweep, watchedHook, refusedEndpoint } from './discovery-documents.ts'
import { gaugeReading, inventoryState, pointsWithin, recentRuns } from './gauge-documents.ts'
import { textWithin, type Scope } from './scope.ts'
import type { Millis } from '../../../model/instant.ts'

// Where a destination sends one signal. What is pending was accepted for that endpoint, and not for an endpoint that gets the name later.
const endpoint = z.object({
  /** Distinguishes endpoints. */
  mark: z.string(),
  /** The endpoint as it may be shown; empty for one that is a secret. */
  shown: z.string(),
})

const exportEndpoint = z.object({
  destination: z.string(),
  signal: z.string(),
  ...endpoint.shape,
  /** Earlier ones, newest first. */
  former: z.array(endpoint),
})
export type ExportEndpoint = z.infer<typeof exportEndpoint>

/** `Key` are the fields that identify a document. */
export interface Repository<Document extends object, Key extends keyof Document> {
  /** Also undefined if it is damaged: its owner will write a new one. */
  get(key: Pick<Document, Key>): Promise<Document | undefined>
  /** In the order of their keys, without damaged ones: `onDamaged` is called with the name of each. */
  all(onDamaged?: (name: string) => void): Promise<readonly Document[]>
  put(document: Document): Promise<void>
  remove(key: Pick<Document, Key>): Promise<void>
  /** Deletes expired and damaged documents. `now` is the store's clock. */
  prune(isOver: (document: Document, now: Millis) => boolean): Promise<void>
  /**
   * Changes one document under a lock. `change` must be pure, as it may be called again. If it returns no document, the document is
   * deleted. `now` is the store's clock.
   */
  change<T>(
    key: Pick<Document, Key>,
    change: (known: Document | undefined, now: Millis) => Change<Document, T>,
  ): Promise<T>
  /** The store's clock. */
  now(): Promise<Millis>
}

export interface Change<Document, T> {
  readonly document: Document | undefined
  readonly result: T
}

/** The interface for all code other than the owner. */
export type Readable<R extends { readonly all: unknown }> = Pick<R, 'all'>

/** What a document is about: ids or paths of projects and groups. */
export interface Subject {
  readonly projectId?: number | undefined
  /** Full paths, or ids as texts, as they may be configured; empty: the whole instance. */
  readonly paths?: readonly (string | undefined)[] | undefined
}

/** A kind of documents that a feature declares. */
export interface DocumentKind<Document extends object, Key extends keyof Document> {
  /** The beginning of the documents' names in the key-value table. */
  readonly kind: string
  readonly shape: z.ZodType<Document>
  readonly key: readonly Key[]
  readonly shown?: ShownTo<Document> | undefined
}

/** Who sees a document. Without it, people who may see only some projects see no document of the kind. */
export interface ShownTo<Document> {
  readonly about: (document: Document) => Subject & { readonly instance: string }
  /** The part of a document for somebody who may see what it is about; undefined: nothing. Default: all. */
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

/** All kinds of documents of the core. Times of those that are declared here are the store's unless noted. */
export function repositoriesOf(make: MakeRepository) {
  return {
    /** Written by the poller. */
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
    /** Written by redelivery. */
    hooks: make('hook', watchedHook, ['instance', 'kind', 'id'], {
      // A group that is configured by its id may be any group.
      about: ({ instance, kind, owner }) => ({
        instance,
        paths: kind === 'group' && /^\d+$/.test(owner) ? [] : [owner],
      }),
    }),
    /** Written by the API client, one for each token. */
    budgets: make('budget', apiBudget, ['account']),
    /** Written by the job reader. */
    refusedEndpoints: make('refused', refusedEndpoint, ['instance', 'what', 'project'], {
      about: ({ instance, project, path }) =>
        project > 0 ? { instance, projectId: project, paths: [path] } : { instance, paths: [path ?? ''] },
      // Without a project it is about all of them, and its message may name any.
      within: (one, scope) => {
        if (one.project > 0) return one
        return scope.bounds === 'hidden' ? { ...one, message: textWithin(scope, one.message) } : undefined
      },
    }),
    /**
     * The metric names in the reports of a project's jobs, in the order in which they were first seen. Users choose them, and each becomes a metric, so
     * their number is limited.
     */
    reportedNames: make(
      'reported-names',
      z.object({ instance: z.string(), project: z.number(), names: z.array(z.string()) }),
      ['instance', 'project'],
    ),
    /** Written by inventory. */
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
    /** Written by the pages at a logout. `digest`: HMAC of the session's id with the admin token, so that no cookie can be read from the store. */
    sessions: make('session', z.object({ digest: z.string(), until: z.number() }), ['digest']),
    /** Written when a daemon starts to send: the endpoint that what is pending for a destination and signal is meant for. */
    exportEndpoints: make('export/endpoint', exportEndpoint, ['destination', 'signal']),
    /** Written by the metric flush; a single document. */
    recentRuns: make('metrics/recent-runs', recentRuns, []),
    /**
     * Written by `pipespan store copy` into the source of an unfinished copy; a single document. A daemon that serves the source deletes it, as the
     * copy cannot be continued then.
     */
    copy: make('store-copy', z.object({ holder: z.string() }), []),
    /** The documents of a feature. */
    of: <Document extends object, Key extends keyof Document>({
      kind,
      shape,
      key,
      shown,
    }: DocumentKind<Document, Key>) => make(kind, shape, key, shown),
  } as const
}

export type Repositories = ReturnType<typeof repositoriesOf>
