// The name of an event as an attribute too, for backends that do not show the field of the log record that has it.
import { attributesOf, type AttributeStyle } from './attributes.ts'
import { eventAttributes } from './mapping/event.ts'
import type { AttributeSet } from './otlp/attribute.ts'
import type { TelemetrySettings } from './settings.ts'

/** Nothing, unless the operator asked for it. */
export function eventAttributesOf(
  name: string,
  style: AttributeStyle,
  { eventNameAttribute }: Pick<TelemetrySettings, 'eventNameAttribute'>,
): AttributeSet[] {
  return eventNameAttribute ? attributesOf(eventAttributes, { name }, style) : []
}
