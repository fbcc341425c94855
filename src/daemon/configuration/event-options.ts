// The options of webhook events that are about no pipeline.
import { boolean } from './plain-kinds.ts'
import { wordsOf } from './list-kinds.ts'
import { setting, type Profiles } from './option.ts'

/** `own`: words of events that features make. */
export function eventOptions(profiles: Profiles, own: readonly string[]) {
  const words = [...new Set([...Object.values(profiles).flatMap(({ events }) => events), ...own])]
  return {
    events: setting(wordsOf(words, 'event'), {
      default: 'deployment,change,release,feature_flag,access_token,operator',
      example: 'deployment,change,push',
    }).describe(
      `Events besides those of pipelines and jobs that become log records: ${words.map(word => `\`${word}\``).join(', ')}. See docs/EVENTS.md. Other webhooks are answered and counted. No requests, except for \`issue\`: if the API is configured, 1 every PIPESPAN_POLL_INTERVAL for incidents that have changed.`,
    ),
    eventsNameAttribute: setting(boolean, { default: 'false' }).describe(
      "Also write an event's name to the attribute `event.name`, for backends that ignore the log record's event name field.",
    ),
  }
}
