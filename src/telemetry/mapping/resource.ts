// The resource: what a project is to an observability backend. One table, and the rules for the user's own attributes.
import type { Attributes } from '@opentelemetry/api'
import { resourceFromAttributes, type Resource } from '@opentelemetry/resources'
import {
  ATTR_DEPLOYMENT_ENVIRONMENT_NAME,
  ATTR_SERVICE_NAME,
  ATTR_SERVICE_VERSION,
} from '@opentelemetry/semantic-conventions'
import type { Chunk } from '../../model/chunk.ts'
import {
  ATTR_DEPLOYMENT_ENVIRONMENT,
  ATTR_VCS_OWNER_NAME,
  ATTR_VCS_PROVIDER_NAME,
  ATTR_VCS_REPOSITORY_NAME,
  ATTR_VCS_REPOSITORY_URL_FULL,
  schemaUrl,
} from './semconv.ts'
import { profileOf, styleOf, type TelemetrySettings } from '../settings.ts'
import { GivenAttributes } from '../attributes/given.ts'
import { projectUrl } from '../urls.ts'
import type { AttributeValue } from '../attribute-policy.ts'
import { notBlank, type AttributeRow, type AttributeStyle } from '../attributes.ts'
import { toldTable, type AttributeSource } from '../attributes/told.ts'

/** What of a part the resource is made from: the same for each part of a run. */
export type ResourceSubject = Pick<Chunk, 'key' | 'project' | 'trace'>

interface Subject {
  readonly part: ResourceSubject
  readonly settings: TelemetrySettings
}

/** What a service is called that has no name (resource semantic conventions, "service"). */
const unknownService = 'unknown_service'

export const resourceAttributes: readonly AttributeRow<Subject>[] = [
  {
    keys: [ATTR_SERVICE_NAME],
    type: 'string',
    when: 'always',
    note: 'as configured, else the name of the project',
    value: ({ part, settings }) => configuredName(settings) ?? nameOf(part) ?? unknownService,
  },
  { keys: [ATTR_SERVICE_VERSION], type: 'string', when: 'always', note: '`1.0.0`, static', value: () => '1.0.0' },
  {
    keys: [ATTR_DEPLOYMENT_ENVIRONMENT, ATTR_DEPLOYMENT_ENVIRONMENT_NAME],
    type: 'string',
    when: 'always',
    note: 'as configured under either name, else `production`',
    value: ({ settings }) => configuredEnvironment(settings) ?? 'production',
  },
  {
    keys: [ATTR_VCS_PROVIDER_NAME],
    type: 'string',
    when: 'always',
    note: 'as the profile says',
    value: ({ part, settings }) => profileOf(part, settings).provider,
  },
  {
    keys: [ATTR_VCS_REPOSITORY_NAME],
    type: 'string',
    when: 'known',
    note: 'the name of the project',
    value: ({ part }) => nameOf(part),
  },
  {
    keys: ['platform.vcs.repository.id'],
    type: 'string',
    when: 'always',
    note: 'the id of the project',
    value: ({ part }) => String(part.project.id),
  },
  {
    keys: [ATTR_VCS_REPOSITORY_URL_FULL],
    type: 'string',
    when: 'known',
    note: 'the web URL of the project',
    value: ({ part }) => projectUrl(part),
  },
  {
    keys: [ATTR_VCS_OWNER_NAME],
    type: 'string',
    when: 'the project has a namespace',
    note: 'everything before the last `/` of the path of the project',
    value: ({ part }) => ownerOf(part),
  },
]

/** Names of the contract that no user's attribute may take. Those of the vendor follow the profile. */
const contractNames = /^(?:vcs\.|service\.version$)/

/** Everything before the last `/` of the project's path; undefined where there is no namespace. */
export function ownerOf({ project }: Pick<Chunk, 'project'>): string | undefined {
  const { path } = project
  return path === undefined ? undefined : notBlank(path.slice(0, Math.max(0, path.lastIndexOf('/'))))
}

/** All attributes of a part's resource, the user's own last. */
export function resourceAttributesOf(part: ResourceSubject, settings: TelemetrySettings): Attributes {
  return toldResource(part, settings).asObject()
}

/** The same, before anybody has made an object or bytes of them. */
export function toldResource(part: ResourceSubject, settings: TelemetrySettings): AttributeSource {
  const style = styleOf(part, settings)
  const told = toldTable(resourceAttributes, style, attributesField).of({ part, settings })
  const own = ownOf.get(style) ?? new GivenAttributes(ownAttributes(settings, style), attributesField)
  ownOf.set(style, own)
  return {
    asObject: () => ({ ...told.asObject(), ...own.asObject() }),
    write: writer => {
      own.write(writer)
      told.write(writer)
    },
  }
}

/** Their number in the message of a resource. */
const attributesField = 1

/** Styles are few and live as long as the settings do. */
const ownOf = new WeakMap<AttributeStyle, GivenAttributes>()

function ownAttributes(settings: TelemetrySettings, { namespace, policy }: AttributeStyle): Attributes {
  const attributes: Attributes = {}
  const taken = new Set(resourceAttributes.flatMap(({ keys }) => keys))
  for (const [key, value] of Object.entries(settings.resourceAttributes)) {
    if (taken.has(key) || contractNames.test(key) || key.startsWith(namespace)) continue
    const rule = policy(key)
    if (rule !== undefined) attributes[key] = rule(value)
  }
  return attributes
}

/** Make one for each part: the serializers put the spans of one Resource object together. */
export function resourceOf(part: ResourceSubject, settings: TelemetrySettings): Resource {
  return resourceFromAttributes(resourceAttributesOf(part, settings), { schemaUrl })
}

/** The project's name, else the end of its path. */
export function nameOf({ project }: Pick<Chunk, 'project'>): string | undefined {
  return notBlank(project.name) ?? notBlank(project.path?.slice(project.path.lastIndexOf('/') + 1))
}

function configuredName({ serviceName, resourceAttributes: own }: TelemetrySettings): string | undefined {
  return notBlank(serviceName) ?? text(own[ATTR_SERVICE_NAME])
}

function configuredEnvironment({ resourceAttributes: own }: TelemetrySettings): string | undefined {
  return text(own[ATTR_DEPLOYMENT_ENVIRONMENT_NAME]) ?? text(own[ATTR_DEPLOYMENT_ENVIRONMENT])
}

function text(value: AttributeValue | undefined): string | undefined {
  return value === undefined ? undefined : notBlank(String(value))
}
