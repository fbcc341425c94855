// Which runs a token of a platform is for: those of one instance, in all groups or in some. If several tokens are for a project, the one with the longest
// group is used.

export interface Territory {
  readonly instance: string
  readonly parts: readonly TerritoryPart[]
}

/** A group with its subgroups, without those that other tokens are for. Full paths; the empty group has all projects. */
export interface TerritoryPart {
  readonly group: string
  readonly except: readonly string[]
}

/** All projects of an instance. */
export function wholeInstance(instance: string): Territory {
  return { instance, parts: [{ group: '', except: [] }] }
}

/** The territories of the tokens of one platform, in their order. Without groups a token is for all projects that no other token is for. */
export function territoriesOf(instance: string, tokens: readonly (readonly string[])[]): Territory[] {
  const groupsOf = (groups: readonly string[]): readonly string[] => (groups.length === 0 ? [''] : groups)
  const all = new Set(tokens.flatMap(groupsOf))
  return tokens.map(groups => ({
    instance,
    parts: groupsOf(groups).map(group => ({ group, except: [...all].filter(other => isInside(other, group)) })),
  }))
}

/** `path`: the project's full path, if it is known. */
export function isWithin({ instance, parts }: Territory, of: string, path: string | undefined): boolean {
  if (instance !== of) return false
  const isIn = (group: string): boolean => group === '' || (path !== undefined && isInside(path, group))
  return parts.some(({ group, except }) => isIn(group) && !except.some(isIn))
}

/** Whether this is a path below the group. The platform ignores the case. */
export function isInside(path: string, group: string): boolean {
  if (group === '') return path !== ''
  return path.toLowerCase().startsWith(`${group.toLowerCase()}/`)
}
