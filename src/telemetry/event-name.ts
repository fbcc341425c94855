// The name of an event as an attribute, for backends that do not show the log record's field `event_name`.
import { attributesOf, type AttributeStyle } from './attributes.ts'
import { eventAttributes } from './mapping/event.ts'
import type { AttributeSet } from './otlp/attribute.ts'
import type { TelemetrySettings } from './settings.ts'

/** Empty unless it is configured. */
export function eventAttributesOf(
  name: string,
  style: AttributeStyle,
  { eventNameAttribute }: Pick<TelemetrySettings, 'eventNameAttribute'>,
): AttributeSet[] {
  return eventNameAttribute ? attributesOf(eventAttributes, { name }, style) : []
}
