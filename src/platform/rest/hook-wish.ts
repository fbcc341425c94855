// Makes the bodies of requests that create and edit webhooks on the platform.
import { segmentOf } from './query.ts'
import type { HookOwner, HookWish } from '../port.ts'
import type { Change } from './request.ts'

export function hooksPath(owner: HookOwner): string {
  return 'project' in owner ? `/projects/${segmentOf(owner.project)}/hooks` : `/groups/${segmentOf(owner.group)}/hooks`
}

/** The body of a request that creates or edits a hook. `defaults`: flags for a new hook only, such as turning off push events. */
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
