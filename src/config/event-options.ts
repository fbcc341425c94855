// The options of the platform's webhook events that are about no pipeline.
import { boolean } from './plain-kinds.ts'
import { setting, type Profiles } from './option.ts'
import { wordsOf } from './word-kinds.ts'

export function eventOptions(profiles: Profiles) {
  const words = [...new Set(Object.values(profiles).flatMap(({ events }) => events))]
  return {
    events: setting(wordsOf(words, 'event'), {
      variable: 'PIPESPAN_EVENTS',
      default: 'deployment,change,release,feature_flag,access_token',
      says: `Webhook events besides those of pipelines and jobs that become log records: ${words.map(word => `\`${word}\``).join(', ')}; docs/EVENTS.md says what each is. Others are answered and counted. It costs no request.`,
      example: 'deployment,change,push',
    }),
    eventsNameAttribute: setting(boolean, {
      variable: 'PIPESPAN_EVENTS_NAME_ATTRIBUTE',
      default: 'false',
      says: "Write an event's name as the attribute `event.name` too, for backends that do not read the field of the log record.",
    }),
  }
}
