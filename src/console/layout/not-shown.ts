// The response of the pages and the JSON API if they cannot show something, usually because a setting is missing. The response explains what the
// daemon needs.

export class NotShown {
  /** The reason, as sentences to show to the user. */
  readonly reason: string
  /** Whether the reason is a missing setting. Only the operator can add the setting. */
  readonly lacksSetting: boolean

  constructor(reason: string, lacksSetting = false) {
    this.reason = reason
    this.lacksSetting = lacksSetting
  }

  /** Creates the response for missing settings. `needed` contains the names of the settings. */
  static without(what: string, needed: readonly string[]): NotShown {
    const last = needed.at(-1) ?? ''
    const all = needed.length > 1 ? `${needed.slice(0, -1).join(', ')} and ${last}` : last
    return new NotShown(`${what}: the daemon needs ${all}.`, true)
  }
}

/** The names of required settings, as used in the sentences of `NotShown`. */
export const needed = {
  adminToken: 'an admin token (PIPESPAN_ADMIN_TOKEN)',
  platform: 'the platform’s API (PIPESPAN_PLATFORM_URL, PIPESPAN_PLATFORM_TOKEN)',
} as const
