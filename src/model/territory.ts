// Defines which runs a platform token is used for: those of one instance, in all groups or only in some. If several tokens match a project, the one
// with the longest group path is used.

export interface Territory {
  readonly instance: string
  readonly parts: readonly TerritoryPart[]
}

/**
 * A group with its subgroups, except subgroups that are covered by other tokens. All paths are full paths. The empty path stands for all projects.
 */
export interface TerritoryPart {
  readonly group: string
  readonly except: readonly string[]
}

/** The territory that contains all projects on an instance. */
export function wholeInstance(instance: string): Territory {
  return { instance, parts: [{ group: '', except: [] }] }
}

/** The territories of a platform's tokens, in the order of the tokens. A token without groups is used for all projects that no other token covers. */
export function territoriesOf(instance: string, tokens: readonly (readonly string[])[]): Territory[] {
  const groupsOf = (groups: readonly string[]): readonly string[] => (groups.length === 0 ? [''] : groups)
  const all = new Set(tokens.flatMap(groupsOf))
  return tokens.map(groups => ({
    instance,
    parts: groupsOf(groups).map(group => ({ group, except: [...all].filter(other => isInside(other, group)) })),
  }))
}

/** Whether a project is within a territory. `path`: the project's full path, if it is known. */
export function isWithin({ instance, parts }: Territory, of: string, path: string | undefined): boolean {
  if (instance !== of) return false
  const isIn = (group: string): boolean => group === '' || (path !== undefined && isInside(path, group))
  return parts.some(({ group, except }) => isIn(group) && !except.some(isIn))
}

/** Whether a path is below a group's path. The comparison ignores case, as the platform does. */
export function isInside(path: string, group: string): boolean {
  if (group === '') return path !== ''
  return path.toLowerCase().startsWith(`${group.toLowerCase()}/`)
}
