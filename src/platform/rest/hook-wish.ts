// Requests that create and edit webhooks on the platform.
import { segmentOf, type ResourceId } from './query.ts'
import type { Change } from './request.ts'
import type { Secret } from '../../lib/secret.ts'

/** A hook belongs to a project or to a group. */
export type HookOwner = { readonly project: ResourceId } | { readonly group: ResourceId }

/** The wanted settings of a hook. Undefined ones keep their value; a new hook has the platform's defaults, and only these events. */
export interface HookWish {
  /** Undefined: an existing hook keeps its URL. */
  readonly url?: string | undefined
  readonly pipelineEvents: boolean
  readonly jobEvents: boolean
  /** Wire names of other flags to set. */
  readonly events?: readonly string[] | undefined
  /** Secrets cannot be read back: the platform only says whether there is one. */
  readonly token?: Secret | undefined
  /** `whsec_…`. A platform that does not sign ignores it. */
  readonly signingToken?: Secret | undefined
}

export function hooksPath(owner: HookOwner): string {
  return 'project' in owner ? `/projects/${segmentOf(owner.project)}/hooks` : `/groups/${segmentOf(owner.group)}/hooks`
}

/** The body of a request that creates or edits a hook. `defaults`: only a new hook has its push events turned off. */
export function wireHook(
  wish: HookWish,
  defaults: Readonly<Record<string, boolean>> = {},
): Pick<Change, 'body' | 'secrets'> {
  const [token, signingToken] = [wish.token?.reveal(), wish.signingToken?.reveal()]
  const body = {
    url: wish.url,
    pipeline_events: wish.pipelineEvents,
    job_events: wish.jobEvents,
    ...defaults,
    ...Object.fromEntries((wish.events ?? []).map(flag => [flag, true])),
    token,
    signing_token: signingToken,
  }
  return { body, secrets: [token, signingToken].filter(secret => secret !== undefined) }
}
