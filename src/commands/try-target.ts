// The target of `pipespan try`: the platform's address with a project or a group, as people type or paste it, and the data that the token can read
// there.
import { plainLine } from '../lib/plain-text.ts'
import { ConfigError } from '../lib/fault.ts'
import { misuse } from '../lib/command-line.ts'
import { resourceIdOf } from './platform.ts'
import { PlatformError, type CallOptions, type PlatformClient, type PlatformProject } from '../platform/port.ts'

/** The platform, and the project or group to show. `name` is an id or a full path. */
export interface TryTarget {
  /** The platform's base URL. */
  readonly url: string
  readonly name: string
}

export type FoundTarget =
  | { readonly is: 'project'; readonly name: string; readonly projects: readonly PlatformProject[] }
  /**
   * A group that was found. `projects` contains its most recently active projects, latest first. `isWhole` is true if these are all projects of the
   * group.
   */
  | {
      readonly is: 'group'
      readonly name: string
      readonly projects: readonly PlatformProject[]
      readonly isWhole: boolean
    }

const call: CallOptions = { priority: 'enrich' }
/** The maximum number of a group's projects that are searched for a pipeline whose jobs can be read. */
const maxAsked = 5

/**
 * Parses the target. `named` is an id, a full path, or the URL of a page of the project or group. Without it, `url` must be such a page. Throws a
 * misuse error.
 */
export function targetOf(url: string, named: string | undefined): TryTarget {
  const base = addressOf(url.replace(/\/api\/v4\/?$/, ''))
  if (named === undefined) return { url: base.origin, name: pathOf(base.pathname) }
  const root = base.pathname.replace(/\/+$/, '')
  if (!/^https?:\/\//i.test(named)) return { url: base.origin + root, name: pathOf(named) }
  const page = addressOf(named)
  if (page.origin !== base.origin || !page.pathname.startsWith(`${root}/`)) {
    throw misuse(
      `${page.origin} is not the platform at ${base.origin}${root}. Give a project or group of that platform.`,
    )
  }
  return { url: base.origin + root, name: pathOf(page.pathname.slice(root.length)) }
}

function addressOf(text: string): URL {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw misuse(`The platform's address must be an http or https URL, such as https://git.example.com.`)
  }
  if (url.username + url.password !== '') {
    throw misuse('The address must not contain a user or password. Give the token in PIPESPAN_PLATFORM_TOKEN.')
  }
  return url
}

/** Returns the path of a URL without the parts that are specific to pages and clones: `/groups/team/-/issues`, `/team/shop.git`. */
function pathOf(text: string): string {
  const path = decoded(text)
    .replace(/\/-(\/.*)?$/, '')
    .replace(/^\/?groups\//, '')
    .replace(/^\/+|\/+$/g, '')
    .replace(/\.git$/, '')
  // Only plain paths are accepted: a pasted address may contain invisible characters, which would end up in the commands that the user copies.
  if (path !== '' && path === plainLine(path)) return path
  throw misuse('Give a project or group: its ID, its full path such as team/shop, or its URL.')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Finds a project with that name, or else a group. Throws a Fault that says how to fix the problem. */
export async function findTarget(client: PlatformClient, { url, name }: TryTarget): Promise<FoundTarget> {
  const id = resourceIdOf(name)
  const project = await ifThere(async () => client.project(id, call))
  if (project !== undefined) {
    // A path with unusual characters is neither printed nor used in commands to copy. The id identifies the same project.
    const isPath = /^[\w./-]+$/.test(project.path ?? '')
    return { is: 'project', name: (isPath ? project.path : undefined) ?? String(project.id), projects: [project] }
  }
  const first = await ifThere(async () => {
    for await (const page of client.projects({ group: id }, {}, call)) return page
    return { items: [], next: undefined }
  })
  if (first === undefined) {
    throw new ConfigError(
      `${url} has no project or group ${name}, or does not show it to this token.`,
      "Check the path, and that the token's user is a member of it.",
    )
  }
  if (first.items.length === 0) {
    throw new ConfigError(
      `The token may not see any project of the group ${name}.`,
      "Make the token's user a member of its projects, or name another group.",
    )
  }
  return { is: 'group', name, projects: first.items, isWhole: first.next === undefined }
}

async function ifThere<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof PlatformError && error.kind === 'not-found') return undefined
    throw error
  }
}

/**
 * Reads the jobs of one pipeline, as the daemon will. Returns the error if the token may not read jobs: pipelines are then shown without jobs. Throws
 * a PlatformError if even the pipelines cannot be read.
 */
export async function askJobs(client: PlatformClient, { projects }: FoundTarget): Promise<PlatformError | undefined> {
  for (const project of projects.slice(0, maxAsked)) {
    for await (const { items } of client.projectPipelines(project.id, {}, { ...call, max: 1 })) {
      const [item] = items
      if (item === undefined) break
      try {
        await client.about({ pipelineId: item.id, project: { ...item.project, ...project } }).ask('jobs', call)
        return undefined
      } catch (error) {
        if (error instanceof PlatformError && !error.passing) return error
        throw error
      }
    }
  }
  return undefined
}
