// What the pages and the JSON API do not show because the configuration lacks something: both say what the daemon needs.

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

/** What is needed for it, as `NotShown` names it. */
export const needed = {
  adminToken: 'an admin token (PIPESPAN_ADMIN_TOKEN)',
  platform: 'the platform’s API (PIPESPAN_PLATFORM_URL, PIPESPAN_PLATFORM_TOKEN)',
} as const
