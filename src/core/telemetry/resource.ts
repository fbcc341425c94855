// The resource of a project: the attributes of the table, then the configured ones. And the instrumentation scopes: of pipelines, of job logs and
// reports, of spans that a job made itself, and of events.
import { attributesOf, namedAttributes, type AttributeStyle } from './attributes.ts'
import { resourceAttributes, type ResourceOwner } from './mapping/resource.ts'
import { schemaUrl } from './mapping/semconv.ts'
import { styleOf, type TelemetrySettings } from './settings.ts'
import type { AttributeSet } from './otlp/attribute.ts'
import type { AnyChunk } from '../../model/event.ts'
import type { Resource, Scope } from './otlp/messages.ts'
import { version } from '../../lib/version.ts'
import type { Chunk } from '../../model/chunk.ts'

/** Names that configured attributes must not use, in addition to those of the table and the vendor. */
const contractNames = /^(?:vcs\.|service\.version$)/

/** A resource message with these attributes. */
export function resourceWith(attributes: readonly AttributeSet[]): Resource {
  return { attributes, droppedAttributesCount: 0, schemaUrl }
}

/**
 * The resource of a chunk's spans and records. It also has what the operator's rules set, which override the configured attributes. Metrics do
 * without, so that all series of a project have the same resource.
 */
export function signalResourceOf(chunk: AnyChunk, settings: TelemetrySettings): AttributeSet[] {
  return resourceAttributesOf(chunk, settings, settings.custom?.(chunk).values)
}

/** All attributes of a project's resource, the configured ones last. */
export function resourceAttributesOf(
  chunk: ResourceOwner,
  settings: TelemetrySettings,
  custom?: Readonly<Record<string, string>>,
): AttributeSet[] {
  const style = styleOf(chunk, settings)
  const configured = custom === undefined ? settings.resourceAttributes : { ...settings.resourceAttributes, ...custom }
  return [...attributesOf(resourceAttributes, { chunk, settings }, style), ...ownAttributes(configured, style)]
}

function ownAttributes(
  configured: TelemetrySettings['resourceAttributes'],
  { namespace, policy }: AttributeStyle,
): AttributeSet[] {
  const isReserved = (key: string): boolean =>
    tableNames.has(key) || contractNames.test(key) || key.startsWith(namespace)
  return namedAttributes(Object.fromEntries(Object.entries(configured).filter(([key]) => !isReserved(key))), { policy })
}

const tableNames = new Set(resourceAttributes.flatMap(({ keys }) => keys as readonly string[]))

export const scope: Scope = { name: 'pipespan', version }

/** For job logs and reports. */
const jobScope: Scope = { name: 'pipespan.job', version }

/** For spans that a job made itself: whatever they are called, Pipespan did not make them. */
const ownScope: Scope = { name: 'pipespan.job.own', version }

/** For events that are about no pipeline. */
export const eventScope: Scope = { name: 'pipespan.events', version }

/** The scope of a chunk's spans and log records; metrics are always in `scope`. */
export function scopeOf({ kind, inside }: Pick<Chunk, 'kind' | 'inside'>): Scope {
  if (inside?.ownSpans !== undefined) return ownScope
  return kind === 'job' ? jobScope : scope
}
