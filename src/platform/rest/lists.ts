// The items of the lists that discovery reads, in normal form.
import { z } from 'zod'
import { everyFlag } from '../webhook/event-selection.ts'
import { known } from '../known.ts'
import { maybe, wireId, wireSeconds, wireStatus, wireText, wireTime, wireUrl } from './wire-field.ts'
import type { Millis } from '../../model/instant.ts'
import type { MergeRequest, ProjectFacts } from '../../model/observation.ts'

const text = maybe(wireText)
const time = maybe(wireTime)
const flag = maybe(z.boolean())

/** A pipeline in a list: enough to know whether it is news, but not for an observation. */
export interface PipelineListItem {
  readonly id: number
  readonly projectId: number
  readonly status: string
  readonly iid?: number | undefined
  readonly source?: string | undefined
  readonly ref?: string | undefined
  readonly sha?: string | undefined
  readonly webUrl?: string | undefined
  readonly createdAt?: Millis | undefined
  readonly updatedAt?: Millis | undefined
  /** Cross-project list only. */
  readonly finishedAt?: Millis | undefined
  /** Cross-project list only, where the merge request is visible. */
  readonly mergeRequest?: MergeRequest | undefined
  /** Cross-project list only. */
  readonly project?: ProjectFacts | undefined
}

/** A project with what polling needs. */
export interface PlatformProject extends ProjectFacts {
  /** Updated by users' actions, at most hourly, and not by schedules or retries. */
  readonly lastActivityAt?: Millis | undefined
  readonly archived: boolean
}

export interface PlatformHook {
  readonly id: number
  /** With `{name}` for each masked part. */
  readonly url: string
  /** Names of the masked parts of its URL. */
  readonly urlVariables: readonly string[]
  readonly pipelineEvents: boolean
  readonly jobEvents: boolean
  /** Its other flags, by their wire names. An older platform has fewer. */
  readonly events: Readonly<Record<string, boolean>>
  /** Undefined on older platforms. */
  readonly tokenPresent?: boolean | undefined
  /** Undefined on platforms that do not sign. */
  readonly signingTokenPresent?: boolean | undefined
  readonly alertStatus?: string | undefined
  readonly disabledUntil?: Millis | undefined
  /** It has a custom template, so that its deliveries have another body. */
  readonly hasTemplate: boolean
}

/** A stored delivery of a hook. */
export interface HookDelivery {
  readonly id: number
  readonly trigger?: string | undefined
  /** Names in lower case; the secret among them is redacted by the platform. */
  readonly requestHeaders: Readonly<Record<string, string>>
  /** The payload; undefined if it was too large to be recorded. */
  readonly requestData?: unknown
  readonly isOversize: boolean
  /** A number, or a text if there was no answer (`internal error`). */
  readonly responseStatus?: string | undefined
  /** How long it took, s. */
  readonly duration?: number | undefined
}

const projectFields = {
  id: wireId,
  name: text,
  path_with_namespace: text,
  web_url: maybe(wireUrl),
  default_branch: text,
}

function projectFacts(project: z.infer<z.ZodObject<typeof projectFields>>): ProjectFacts {
  return known({
    id: project.id,
    name: project.name,
    path: project.path_with_namespace,
    webUrl: project.web_url,
    defaultBranch: project.default_branch,
  })
}

export const restListItem = z
  .object({
    id: wireId,
    iid: maybe(wireId),
    project_id: wireId,
    status: wireStatus,
    source: text,
    ref: text,
    sha: text,
    web_url: maybe(wireUrl),
    created_at: time,
    updated_at: time,
    finished_at: time,
    merge_request: maybe(z.object({ iid: wireId, title: text, web_url: maybe(wireUrl) })),
    project: maybe(z.object(projectFields)),
  })
  .transform((item): PipelineListItem =>
    known({
      id: item.id,
      projectId: item.project_id,
      status: item.status,
      iid: item.iid,
      source: item.source,
      ref: item.ref,
      sha: item.sha,
      webUrl: item.web_url,
      createdAt: item.created_at,
      updatedAt: item.updated_at,
      finishedAt: item.finished_at,
      mergeRequest:
        item.merge_request &&
        known({ iid: item.merge_request.iid, title: item.merge_request.title, url: item.merge_request.web_url }),
      project: item.project && projectFacts(item.project),
    }),
  )

export const restProject = z
  .object({ ...projectFields, last_activity_at: time, archived: flag })
  .transform((project): PlatformProject => ({
    ...projectFacts(project),
    ...known({ lastActivityAt: project.last_activity_at }),
    archived: project.archived ?? false,
  }))

const eventFlags = Object.fromEntries(everyFlag.map(name => [name, z.boolean().nullable().optional().catch(undefined)]))

function flagsOf(hook: Readonly<Record<string, unknown>>): Record<string, boolean> {
  return Object.fromEntries(everyFlag.flatMap(name => (hook[name] === undefined ? [] : [[name, hook[name] === true]])))
}

const urlVariable = z.object({ key: wireText })

export const restHook = z
  .object({
    id: wireId,
    url: z.string(),
    pipeline_events: flag,
    job_events: flag,
    ...eventFlags,
    token_present: flag,
    signing_token_present: flag,
    alert_status: text,
    disabled_until: time,
    custom_webhook_template: text,
    url_variables: maybe(z.array(z.unknown())),
  })
  .transform((hook): PlatformHook => ({
    id: hook.id,
    url: hook.url,
    pipelineEvents: hook.pipeline_events ?? false,
    jobEvents: hook.job_events ?? false,
    events: flagsOf(hook),
    hasTemplate: hook.custom_webhook_template !== undefined,
    urlVariables: (hook.url_variables ?? []).flatMap(one => urlVariable.safeParse(one).data?.key ?? []),
    ...known({
      tokenPresent: hook.token_present,
      signingTokenPresent: hook.signing_token_present,
      alertStatus: hook.alert_status,
      disabledUntil: hook.disabled_until,
    }),
  }))

/** Only owners get `runners_token`, a secret, of which only the presence is read. */
export const restGroup = z
  .object({ runners_token: z.unknown().optional() })
  .transform(group => typeof group.runners_token === 'string')

/** Only administrators get `is_admin`. */
export const restUser = z.object({ is_admin: flag })

const oversize = z.object({ oversize: z.literal(true) })

export const restDelivery = z
  .object({
    id: wireId,
    trigger: text,
    request_headers: z.record(z.string(), z.unknown()).catch({}),
    request_data: z.unknown(),
    response_status: maybe(z.union([wireText, z.number().transform(String)])),
    execution_duration: maybe(wireSeconds),
  })
  .transform((delivery): HookDelivery => {
    const isOversize = oversize.safeParse(delivery.request_data).success
    const headers = Object.entries(delivery.request_headers).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name.toLowerCase(), value] as const] : [],
    )
    return {
      id: delivery.id,
      requestHeaders: Object.fromEntries(headers),
      isOversize,
      ...known({
        trigger: delivery.trigger,
        requestData: isOversize ? undefined : delivery.request_data,
        responseStatus: delivery.response_status,
        duration: delivery.execution_duration,
      }),
    }
  })
