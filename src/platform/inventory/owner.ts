// Looks up the project or group that the configuration names by its ID or path.
import { z } from 'zod'
import { PlatformError } from '../port.ts'
import type { NamedOwner } from '../port/inventory.ts'
import { maybe, wireText } from '../rest/wire-field.ts'
import { restProject } from '../rest/projects.ts'
import { segmentOf } from '../rest/api.ts'
import type { Asking } from '../rest/api.ts'
import type { Owner } from '../../model/inventory.ts'

const restGroup = z.object({ full_path: maybe(wireText) })

/** Rejects with a PlatformError if the project or group does not exist, or the token may not see it. */
export async function lookUp({ as, named }: NamedOwner, ask: Asking): Promise<Owner> {
  if (as === 'groups') return groupOf(named, ask)
  try {
    const { archived: _, lastActivityAt: __, ...project } = await ask.one(`/projects/${idOf(named)}`, restProject)
    return { project }
  } catch (error) {
    const isNotFound = error instanceof PlatformError && error.kind === 'not-found'
    if (as === 'projects' || !isNotFound) throw error
    return groupOf(named, ask)
  }
}

async function groupOf(named: string, ask: Asking): Promise<Owner> {
  const { full_path: path = named } = await ask.one(`/groups/${idOf(named)}`, restGroup, { with_projects: false })
  return { group: { path } }
}

function idOf(named: string): string {
  return segmentOf(/^\d+$/.test(named) ? Number(named) : named)
}
