// Webhooks at the platform as requests name them: whose they are, and what they are to be.
import { segmentOf, type ResourceId } from './query.ts'
import type { Change } from './request.ts'
import type { Secret } from '../../lib/secret.ts'

/** A hook belongs to a project or to a group. */
export type HookOwner = { readonly project: ResourceId } | { readonly group: ResourceId }

/** What a hook is to be. Undefined leaves what it has; a new hook has the platform's defaults, and no events but these. */
export interface HookWish {
  readonly url: string
  readonly pipelineEvents: boolean
  readonly jobEvents: boolean
  /** Names on the wire of other flags that are to be set. */
  readonly events?: readonly string[] | undefined
  /** Cannot be read back: the platform only says whether there is one. */
  readonly token?: Secret | undefined
}

export function hooksPath(owner: HookOwner): string {
  return 'project' in owner ? `/projects/${segmentOf(owner.project)}/hooks` : `/groups/${segmentOf(owner.group)}/hooks`
}

/**
 * The body of a request that makes or edits one. `defaults`: a new hook has push events by default; of an existing one nobody asked to take
 * them away.
 */
export function wireHook(
  wish: HookWish,
  defaults: Readonly<Record<string, boolean>> = {},
): Pick<Change, 'body' | 'secrets'> {
  const token = wish.token?.reveal()
  const body = {
    url: wish.url,
    pipeline_events: wish.pipelineEvents,
    job_events: wish.jobEvents,
    ...defaults,
    ...Object.fromEntries((wish.events ?? []).map(flag => [flag, true])),
    token,
  }
  return { body, secrets: token === undefined ? [] : [token] }
}
