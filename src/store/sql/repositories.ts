// The repositories, for both databases: the name of each kind of document in the key-value table, and its shape. A document of another
// shape is damaged: it is logged once, and treated as missing.
import type { z } from 'zod'
import * as audit from '../ports/audit-documents.ts'
import * as discovery from '../ports/discovery-documents.ts'
import { gaugeReading } from '../ports/gauge-documents.ts'
import { incidentCursor } from '../ports/incident-documents.ts'
import { inventoryState } from '../ports/inventory-documents.ts'
import { refusedEndpoint } from '../ports/capability-documents.ts'
import { regression } from '../ports/regression-documents.ts'
import { reportedNames } from '../ports/report-documents.ts'
import { recentRuns } from '../ports/recent-runs.ts'
import { conditionDocument } from './conditions.ts'
import { countedRows } from '../ports/scrape-documents.ts'
import { keyValueOn } from './key-value.ts'
import { knownCondition, notificationRule } from '../ports/condition-documents.ts'
import { storeCopy } from '../ports/tables.ts'
import { storedSession } from '../ports/session.ts'
import { tryRequest } from '../ports/try-documents.ts'
import * as tokens from '../ports/token-documents.ts'
import { storedDocument } from './stored-json.ts'
import type { Repositories, Repository } from '../ports/repository.ts'
import type { Statements } from './statements.ts'

export function repositories(sql: Statements): Repositories {
  const keyValue = keyValueOn(sql)
  function repository<Document extends object, Key extends keyof Document>(
    kind: string,
    shape: z.ZodType<Document>,
    key: readonly Key[],
  ): Repository<Document, Key> {
    // Such as `poll/sweep https://git.example.com acme/shop`.
    const nameOf = (of: Pick<Document, Key>): string => [kind, ...key.map(field => String(of[field]))].join(' ')
    const documentOf = (name: string, text: string): Document | undefined =>
      sql.damaged.orNothing({ document: name }, 'it is written anew', () => storedDocument(text, shape))
    const list = async () => keyValue.list(key.length === 0 ? kind : `${kind} `)
    return {
      get: async of => {
        const text = await keyValue.read(nameOf(of))
        return text === undefined ? undefined : documentOf(nameOf(of), text)
      },
      all: async onDamaged =>
        (await list()).flatMap(({ name, value }) => {
          const document = documentOf(name, value)
          if (document === undefined) onDamaged?.(name)
          return document ?? []
        }),
      put: async document =>
        keyValue.change(nameOf(document), () => ({ value: JSON.stringify(document), result: undefined })),
      remove: async of => keyValue.change(nameOf(of), () => ({ value: undefined, result: undefined })),
      prune: async isOver => {
        const now = await sql.now()
        for (const { name, value } of await list()) {
          const left = (text: string | undefined): string | undefined => {
            const document = text === undefined ? undefined : documentOf(name, text)
            return document === undefined || isOver(document, now) ? undefined : text
          }
          if (left(value) !== undefined) continue
          await keyValue.change(name, text => ({ value: left(text), result: undefined }))
        }
      },
      change: async (of, change) =>
        keyValue.change(nameOf(of), (text, now) => {
          const { document, result } = change(text === undefined ? undefined : documentOf(nameOf(of), text), now)
          return { value: document && JSON.stringify(document), result }
        }),
      now: async () => sql.now(),
    }
  }

  return {
    polledProjects: repository('poll/project', discovery.polledProject, ['instance', 'project']),
    ownPipelines: repository('poll/own', discovery.ownPipelines, ['instance']),
    sweeps: repository('poll/sweep', discovery.sweep, ['instance', 'group']),
    hooks: repository('hook', discovery.watchedHook, ['instance', 'kind', 'id']),
    backfills: repository('backfill', discovery.backfill, ['instance', 'name']),
    auditCursors: repository('audit/cursor', audit.auditCursor, ['instance', 'source']),
    auditBackfills: repository('audit/backfill', audit.auditBackfill, ['instance', 'name']),
    incidentCursors: repository('incidents/cursor', incidentCursor, ['instance']),
    budgets: repository('budget', discovery.apiBudget, ['account']),
    refusedEndpoints: repository('refused', refusedEndpoint, ['instance', 'what', 'project']),
    reportedNames: repository('reported-names', reportedNames, ['instance', 'project']),
    gaugeReadings: repository('gauges', gaugeReading, ['instance', 'kind', 'of']),
    inventoryStates: repository('inventory', inventoryState, ['instance', 'kind', 'of']),
    daemonReports: repository('daemon', tokens.daemonReport, ['daemon']),
    journals: repository('rotation/journal', tokens.rotationJournal, ['target']),
    rotations: repository('rotation/record', tokens.rotationRecord, ['id']),
    regressions: repository('regression', regression, ['instance', 'projectId', 'id']),
    sessions: repository('session', storedSession, ['digest']),
    tryRequests: repository('try-now', tryRequest, ['destination']),
    recentRuns: repository('metrics/recent-runs', recentRuns, []),
    countedRows: repository('scrape/counts', countedRows, ['kind', 'instance', 'projectId']),
    conditions: repository(conditionDocument, knownCondition, ['subject']),
    notificationRules: repository('notification-rule', notificationRule, ['name']),
    copy: repository('store-copy', storeCopy, []),
  }
}
