// Builds the OpenTelemetry resource of a project: first the attributes from the table in `mapping/resource.ts`, then the configured ones. Also
// declares the instrumentation scopes for pipelines, for job logs and reports, for spans that a job recorded itself, and for events.
import { attributesOf, namedAttributes, type AttributeStyle } from './attributes.ts'
import { resourceAttributes, type ResourceOwner } from './mapping/resource.ts'
import { schemaUrl } from './mapping/semconv.ts'
import { styleOf, type TelemetrySettings } from './settings.ts'
import type { AttributeSet } from './otlp/attribute.ts'
import type { AnyChunk } from '../../model/event.ts'
import type { Resource, Scope } from './otlp/messages.ts'
import { version } from '../../lib/version.ts'
import type { Chunk } from '../../model/chunk.ts'

/**
 * Names that configured attributes must not use, in addition to the names in the table of resource attributes and all names in the vendor's
 * namespace.
 */
const contractNames = /^(?:vcs\.|service\.version$)/

export function resourceWith(attributes: readonly AttributeSet[]): Resource {
  return { attributes, droppedAttributesCount: 0, schemaUrl }
}

/**
 * The resource of a chunk's spans and log records. It also contains the attributes that the operator's rules set, which override the configured
 * attributes. The resource of metrics lacks them, so that all series of a project have the same resource.
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

/** The instrumentation scope of job logs and reports. */
const jobScope: Scope = { name: 'pipespan.job', version }

/** The instrumentation scope of spans that a job recorded itself. It shows that Pipespan did not create them, whatever their names are. */
const ownScope: Scope = { name: 'pipespan.job.own', version }

/** The instrumentation scope of events that are not about a pipeline. */
export const eventScope: Scope = { name: 'pipespan.events', version }

/** The instrumentation scope of a chunk's spans and log records. Metrics always have the scope `pipespan`. */
export function scopeOf({ kind, inside }: Pick<Chunk, 'kind' | 'inside'>): Scope {
  if (inside?.ownSpans !== undefined) return ownScope
  return kind === 'job' ? jobScope : scope
}
