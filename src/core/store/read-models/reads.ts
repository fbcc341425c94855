// The queries that people may run within their scope (`ports/reads.ts`), for each area of the store.
import { readings, type Reading } from '../sql/reading.ts'
import { runReads } from '../sql/run-reads.ts'
import { viewsOn } from './views-sql.ts'
import { number, record, type Row } from '../sql/columns.ts'
import { inScope } from '../ports/project-scope.ts'
import { storedAny } from '../sql/stored-json.ts'
import { isEvent, type EventChunk } from '../../../model/event.ts'
import type { Outbox } from '../ports/outbox.ts'
import type { Reads } from '../ports/reads.ts'
import { repositoriesOf, type Repositories, type Repository, type ShownTo, type Subject } from '../ports/repository.ts'
import type { z } from 'zod'
import type { Scope } from '../ports/scope.ts'
import type { Statements, Value } from '../sql/statements.ts'
import type { StorePart } from '../ports/store-part.ts'
import type { AuditCursorPlace, Views } from '../ports/views.ts'

// Lists audit events and the events of a timeline.
function eventsOn({ ask, damaged }: Reading): Pick<Views, 'audit' | 'shownEvents'> {
  const eventOf = (row: Row): EventChunk | [] => {
    const chunk = damaged.row('events', row, one => storedAny(one.content))
    return chunk !== undefined && isEvent(chunk) ? chunk : []
  }
  return {
    audit: async (limit, after = newest) => {
      const rows = await ask(
        // This query uses the index `audit_events`.
        `SELECT e.chunk_id, e.happened_at, c.content FROM events e JOIN chunks c ON c.id = e.chunk_id
         WHERE e.kind = 'audit' AND (e.happened_at, e.chunk_id) < (?1, ?2) AND {visible event e}
         ORDER BY e.happened_at DESC, e.chunk_id DESC LIMIT ?3`,
        [after.at, after.id, limit + 1],
      )
      const shown = rows.slice(0, limit)
      const events = shown.flatMap(eventOf)
      const last = shown.at(-1)
      return rows.length > limit && last !== undefined ? { events, next: placeOf(last) } : { events }
    },
    shownEvents: async ({ as, project, since, until, limit }) => {
      const values: Value[] = [as, since, until, limit]
      const own = project === undefined ? '' : `AND ${inScope('e.project', project, path => `?${values.push(path)}`)}`
      const rows = await ask(
        `SELECT e.chunk_id, c.content FROM events e JOIN chunks c ON c.id = e.chunk_id
         WHERE e.shown_as = ?1 AND e.happened_at >= ?2 AND e.happened_at < ?3 AND {visible event e} ${own}
         ORDER BY e.happened_at DESC, e.chunk_id DESC LIMIT ?4`,
        values,
      )
      return rows.flatMap(eventOf)
    },
  }
}

/** The cursor before the newest event, where the first page starts. */
const newest: AuditCursorPlace = { at: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER }

const placeOf: (row: Row) => AuditCursorPlace = record({ at: number('happened_at'), id: number('chunk_id') })

export function readsOn(
  sql: Statements,
  outbox: Pick<Outbox, 'within'>,
  repositories: Repositories,
  parts: readonly StorePart[],
): (scope: Scope) => Reads {
  const readingOf = readings(sql)
  const { get } = runReads(sql)
  return scope => {
    const reading = readingOf(scope)
    return {
      views: viewsWithin(reading, parts),
      runs: {
        get: async key => {
          const found = await reading.ask(
            `SELECT 1 AS found FROM runs WHERE instance = ?1 AND pipeline_id = ?2 AND {visible}
             UNION ALL SELECT 1 FROM tombstones WHERE instance = ?1 AND pipeline_id = ?2 AND {visible}`,
            [key.instance, key.pipelineId],
          )
          return found.length === 0 ? undefined : get(key)
        },
      },
      outbox: outbox.within(scope),
      on: (make, projects) => make(projects === undefined ? reading : readingOf(only(scope, projects))),
      repositories: shownDocumentsOf(reading, repositories),
    }
  }
}

/** Returns the scope limited to these projects. */
function only({ bounds, sees }: Scope, projects: ReadonlySet<string>): Scope {
  return { bounds: bounds === 'none' ? 'hidden' : bounds, sees: owner => projects.has(owner.path) && sees(owner) }
}

export function viewsWithin(reading: Reading, parts: readonly StorePart[]): Views {
  return { ...viewsOn(reading, parts), ...eventsOn(reading) }
}

/**
 * Returns the documents that a scope includes. Each kind is a short list that is read as a whole, so the documents are filtered here and not by the
 * database. If the project id is known, the latest path of that project is checked; otherwise all paths in the document are.
 */
function shownDocumentsOf({ scope, pathOf }: Reading, all: Repositories): Reads['repositories'] {
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

  return repositoriesOf(
    <Document extends object, Key extends keyof Document>(
      kind: string,
      shape: z.ZodType<Document>,
      key: readonly Key[],
      shown?: ShownTo<Document>,
    ) => {
      const documents = all.of({ kind, shape, key })
      const readable: Pick<Repository<Document, Key>, 'all'> = {
        all: async () => {
          // Documents without a project contain the state of the daemon, of tokens and of destinations.
          if (shown === undefined) return scope.bounds === 'hidden' ? documents.all() : []
          const seen: Document[] = []
          for (const one of await documents.all()) {
            if (!(await isShown(shown.about(one)))) continue
            const part = shown.within === undefined ? one : shown.within(one, scope)
            if (part !== undefined) seen.push(part)
          }
          return seen
        },
      }
      // The cast does not make the repository writable: callers get a type whose only method is `all`.
      return readable as Repository<Document, Key>
    },
  )
}
