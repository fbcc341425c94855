// Looks up the project or group that the configuration names by its ID or path.
import { z } from 'zod'
import { PlatformError } from '../port.ts'
import { maybe, wireText } from './wire-field.ts'
import { restProject } from './projects.ts'
import { segmentOf } from './api.ts'
import type { Asking } from '../port/asking.ts'
import type { NamedOwner } from '../port/thing.ts'
import type { Owner } from '../../model/inventory.ts'

const restGroup = z.object({ full_path: maybe(wireText) })

export async function ownerOf({ as, named }: NamedOwner, ask: Pick<Asking, 'one'>): Promise<Owner> {
  const id = segmentOfNamed(named)
  if (as !== 'groups') {
    try {
      const { archived: _, lastActivityAt: __, ...project } = await ask.one(`/projects/${id}`, restProject)
      return { project }
    } catch (error) {
      const isNotFound = error instanceof PlatformError && error.kind === 'not-found'
      if (as === 'projects' || !isNotFound) throw error
    }
  }
  const { full_path: path = named } = await ask.one(`/groups/${id}`, restGroup, { with_projects: false })
  return { group: { path } }
}

/** The segment of a path for an ID or path from the configuration. */
export function segmentOfNamed(named: string): string {
  return segmentOf(/^\d+$/.test(named) ? Number(named) : named)
}
