// The answer of the pages and the JSON API if they cannot show something, mostly because a setting is missing: it says what the daemon needs.

export class NotShown {
  /** Sentences for people. */
  readonly reason: string
  /** Whether only the operator can change it. */
  readonly lacksSetting: boolean

  constructor(reason: string, lacksSetting = false) {
    this.reason = reason
    this.lacksSetting = lacksSetting
  }

  /** `needed`: names of settings. */
  static without(what: string, needed: readonly string[]): NotShown {
    const last = needed.at(-1) ?? ''
    const all = needed.length > 1 ? `${needed.slice(0, -1).join(', ')} and ${last}` : last
    return new NotShown(`${what}: the daemon needs ${all}.`, true)
  }
}

/** Names of needed settings, for the sentences of `NotShown`. */
export const needed = {
  adminToken: 'an admin token (PIPESPAN_ADMIN_TOKEN)',
  platform: 'the platform’s API (PIPESPAN_PLATFORM_URL, PIPESPAN_PLATFORM_TOKEN)',
} as const
