// The answer of the pages and the JSON API if they cannot show something. The usual reason is that a setting is missing. The answer explains what the
// daemon needs.

export class NotShown {
  /** The reason, as sentences for the reader. */
  readonly reason: string
  /** Whether a setting is missing, which only the operator can change. */
  readonly lacksSetting: boolean

  constructor(reason: string, lacksSetting = false) {
    this.reason = reason
    this.lacksSetting = lacksSetting
  }

  /** Creates the answer for missing settings. `needed` contains the names of the settings. */
  static without(what: string, needed: readonly string[]): NotShown {
    const last = needed.at(-1) ?? ''
    const all = needed.length > 1 ? `${needed.slice(0, -1).join(', ')} and ${last}` : last
    return new NotShown(`${what}: the daemon needs ${all}.`, true)
  }
}

/** The names of needed settings, as used in the sentences of `NotShown`. */
export const needed = {
  adminToken: 'an admin token (PIPESPAN_ADMIN_TOKEN)',
  platform: 'the platform’s API (PIPESPAN_PLATFORM_URL, PIPESPAN_PLATFORM_TOKEN)',
} as const
