// How webhooks write what several events have: times, users, runners, projects, commits.
import { committedAt, type SimPipeline } from './state.ts'
import type { SimProject, SimRunner, SimUser } from './world.ts'

/** `2026-06-01 12:00:00 UTC`. Real webhooks truncate times to the second, too. */
export function wireTime(at: number): string {
  const iso = new Date(at).toISOString()
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`
}

export function maybeTime(at: number | undefined): string | null {
  return at === undefined ? null : wireTime(at)
}

/** Seconds between two instants, fractional. */
export function secondsBetween(from: number | undefined, to: number | undefined): number | null {
  return from === undefined || to === undefined ? null : (to - from) / 1000
}

export function wireUser({ id, name, username, email }: SimUser): object {
  return { id, name, username, avatar_url: `https://www.gravatar.com/avatar/${id}?s=80&d=identicon`, email }
}

export function wireRunner(runner: SimRunner | undefined): object | null {
  if (runner === undefined) return null
  const { id, description, type, isShared, tags } = runner
  return { id, description, runner_type: type, active: true, is_shared: isShared, tags }
}

export function wireProject(project: SimProject, instance: string): object {
  const { id, name, path, description, defaultBranch } = project
  return {
    id,
    name,
    description,
    web_url: `${instance}/${path}`,
    avatar_url: null,
    git_ssh_url: `git@${new URL(instance).hostname}:${path}.git`,
    git_http_url: `${instance}/${path}.git`,
    namespace: namespaceOf(path),
    visibility_level: 0,
    path_with_namespace: path,
    default_branch: defaultBranch,
    ci_config_path: null,
  }
}

/** The name of the group in a path: `acme/shop/web` → `Shop`. */
export function namespaceOf(path: string): string {
  const group = path.split('/').at(-2) ?? ''
  return group.charAt(0).toUpperCase() + group.slice(1)
}

export function wireCommit(pipeline: SimPipeline, instance: string): object {
  const { sha, commitMessage, project, user } = pipeline
  return {
    id: sha,
    message: commitMessage,
    title: commitMessage.split('\n', 1)[0],
    timestamp: new Date(committedAt(pipeline)).toISOString().replace(/\.\d+Z$/, '+00:00'),
    url: `${instance}/${project.path}/-/commit/${sha}`,
    author: { name: user.name, email: user.email },
  }
}
