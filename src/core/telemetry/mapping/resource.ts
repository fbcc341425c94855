// The attributes of a telemetry resource. A resource represents a project.
import {
  ATTR_DEPLOYMENT_ENVIRONMENT_NAME,
  ATTR_SERVICE_NAME,
  ATTR_SERVICE_VERSION,
} from '@opentelemetry/semantic-conventions'
import {
  ATTR_DEPLOYMENT_ENVIRONMENT,
  ATTR_VCS_OWNER_NAME,
  ATTR_VCS_PROVIDER_NAME,
  ATTR_VCS_REPOSITORY_NAME,
  ATTR_VCS_REPOSITORY_URL_FULL,
} from './semconv.ts'
import { profileOf, type Profiled, type TelemetrySettings } from '../settings.ts'
import { projectUrl, type Placed } from './job.ts'
import { notBlank, type AttributeRow } from './row.ts'
import type { AttributeValue } from '../otlp/attribute-value.ts'

/** The fields of a chunk that determine its resource. They are the same for all chunks of a run. */
export interface ResourceOwner extends Placed, Profiled {
  /** The group's path, for an event that belongs to no project. */
  readonly group?: string | undefined
}

export interface ResourceSubject {
  readonly chunk: ResourceOwner
  readonly settings: TelemetrySettings
}

/** The service name of a project without a name (resource semantic conventions, "service"). */
const unknownService = 'unknown_service'

// prettier-ignore
export const resourceAttributes: readonly AttributeRow<ResourceSubject>[] = [
  { keys: [ATTR_SERVICE_NAME], type: 'string', when: 'always', note: "as configured, otherwise the name of the project; for an event without a project the path of the group, otherwise the host of the instance",
    value: ({ chunk, settings }) => configuredName(settings) ?? nameOf(chunk) ?? withoutProject(chunk) ?? unknownService },
  { keys: [ATTR_SERVICE_VERSION], type: 'string', when: 'always', note: '`1.0.0`, static', value: () => '1.0.0' },
  { keys: [ATTR_DEPLOYMENT_ENVIRONMENT, ATTR_DEPLOYMENT_ENVIRONMENT_NAME], type: 'string', when: 'always', note: 'as configured under either name, otherwise `production`',
    value: ({ settings }) => configuredEnvironment(settings) ?? 'production' },
  { keys: [ATTR_VCS_PROVIDER_NAME], type: 'string', when: 'always', note: 'from the profile', value: ({ chunk, settings }) => profileOf(chunk, settings).provider },
  { keys: [ATTR_VCS_REPOSITORY_NAME], type: 'string', when: 'known', note: 'the name of the project', value: ({ chunk }) => nameOf(chunk) },
  { keys: ['platform.vcs.repository.id'], type: 'string', when: 'about a project', note: 'the id of the project', value: ({ chunk }) => chunk.project?.id.toString() },
  { keys: [ATTR_VCS_REPOSITORY_URL_FULL], type: 'string', when: 'known', note: 'the web URL of the project', value: ({ chunk }) => projectUrl(chunk) },
  { keys: [ATTR_VCS_OWNER_NAME], type: 'string', when: 'the project has a namespace', note: 'everything before the last `/` of the path of the project',
    value: ({ chunk }) => ownerOf(chunk) },
]

/** Returns the part of the project's path before the last `/`. Undefined for a path without a namespace. */
export function ownerOf({ project }: Pick<Placed, 'project'>): string | undefined {
  const path = project?.path
  return path === undefined ? undefined : notBlank(path.slice(0, Math.max(0, path.lastIndexOf('/'))))
}

/** Returns the project's name, or else the last segment of its path. */
export function nameOf({ project }: Pick<Placed, 'project'>): string | undefined {
  return notBlank(project?.name) ?? notBlank(project?.path?.slice(project.path.lastIndexOf('/') + 1))
}

function withoutProject({ key, project, group }: ResourceOwner): string | undefined {
  if (project !== undefined) return undefined
  return notBlank(group) ?? (URL.canParse(key.instance) ? new URL(key.instance).host : undefined)
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
