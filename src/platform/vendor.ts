// The table of vendor-specific names. No other file contains these names.
import type { Headers } from './port/webhook.ts'

export interface Vendor {
  readonly name: VendorName
  /** Prefix of the vendor's own attributes, including the dot. */
  readonly namespace: string
  /** Value of `vcs.provider.name`. */
  readonly provider: string
  /** Prefix of the webhook headers, including the dash. */
  readonly headerPrefix: string
  /** Names of two CI/CD variables: the one that configures telemetry export and the one with the token. */
  readonly variables: { readonly export: string; readonly token: string }
}

export type VendorName = 'generic' | 'gitlab'

export const vendors: Readonly<Record<VendorName, Vendor>> = {
  generic: {
    name: 'generic',
    namespace: 'platform.',
    provider: 'platform',
    headerPrefix: 'X-Service-',
    variables: { export: 'SERVICE_OBSERVABILITY_EXPORT', token: 'SERVICE_OBSERVABILITY_TOKEN' },
  },
  gitlab: {
    name: 'gitlab',
    namespace: 'gitlab.',
    provider: 'gitlab',
    headerPrefix: 'X-Gitlab-',
    variables: { export: 'GITLAB_OBSERVABILITY_EXPORT', token: 'GITLAB_OBSERVABILITY_TOKEN' },
  },
}

/** The name of a webhook header, without the vendor's prefix. */
export type HookHeader = 'Event' | 'Token' | 'Instance' | 'Event-UUID' | 'Webhook-UUID'

/**
 * Returns the value of a webhook header; undefined if the header is absent or blank. Accepts the prefixes of all vendors, because a renamed platform
 * may keep its old headers. The prefix of `own` takes precedence.
 */
export function headerOf(headers: Headers, header: HookHeader, own: Pick<Vendor, 'headerPrefix'>): string | undefined {
  for (const { headerPrefix } of [own, ...Object.values(vendors)]) {
    const value = headers[(headerPrefix + header).toLowerCase()]
    const first = typeof value === 'string' ? value : value?.[0]
    if (first !== undefined && first.trim() !== '') return first
  }
  return undefined
}
