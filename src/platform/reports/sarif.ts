// Determines the level of each result in a SARIF report (SARIF 2.1.0, 3.27.10). If a result has no level, its rule's level applies. The rule belongs
// to the tool's driver or to one of its extensions, and an invocation may override the rule's level.
import { listOf, objectOf } from './json-documents.ts'

/** A reference to a rule, from a result or from an override. */
interface RuleReference {
  /** A hierarchical id (`a/b/c`) also refers to the rules `a/b` and `a` (3.27.5). */
  readonly id: string | undefined
  /** The index of the rule within its component, starting at 0. */
  readonly index: number | undefined
  readonly guid: string | undefined
  readonly component: Component | undefined
}

interface Rule {
  readonly id: string | undefined
  readonly guid: string | undefined
  readonly level: string | undefined
}

interface Component {
  readonly name: string | undefined
  readonly guid: string | undefined
  readonly rules: readonly Rule[]
  /** The component's rules by ID and by GUID. If several rules share an ID or a GUID, the first one is used. */
  readonly byName: ReadonlyMap<string, Rule>
}

/** The level of a result if neither the result nor its rule has one. */
const defaultLevel = 'warning'
/** Maximum number of parts of a hierarchical id (such as `a/b/c`) for which rules are looked up. */
const maxParts = 10

/** Returns the level of each result in a SARIF run. */
export function levelsOf(run: unknown): string[] {
  const { tool, results, invocations } = objectOf(run)
  const { driver, extensions } = objectOf(tool)
  const ofDriver = componentOf(driver)
  const ofExtensions = listOf(extensions).map(componentOf)
  const all = [ofDriver, ...ofExtensions]
  // The position of each component. This index avoids a linear search for each result, because a report may have a great many extensions.
  const positions = new Map(all.map((one, position) => [one, position]))
  const [allByGuid, allByName] = [firstBy(all, 'guid'), firstBy(all, 'name')]

  /** Returns the component to which a reference points; undefined if there is none. */
  const componentBy = (reference: unknown): Component | undefined => {
    const { index: number, guid, name } = objectOf(reference)
    const [index, byGuid, byName] = [indexOf(number), guidOf(guid), textOf(name)]
    if (index !== undefined) return ofExtensions[index]
    if (byGuid === undefined && byName === undefined) return ofDriver
    return allByGuid.get(byGuid) ?? allByName.get(byName)
  }
  /** Reads a `reportingDescriptorReference` (SARIF 3.52). */
  const referenceOf = (value: unknown): RuleReference => {
    const { id, index, guid, toolComponent } = objectOf(value)
    return { id: textOf(id), index: indexOf(index), guid: guidOf(guid), component: componentBy(toolComponent) }
  }
  const keyOf = (component: Component | undefined, id: string): string =>
    `${component === undefined ? '' : positions.get(component)} ${id}`
  const overrides = listOf(invocations).map(invocation => {
    const levels = new Map<string, string>()
    for (const one of listOf(objectOf(invocation).ruleConfigurationOverrides)) {
      const reference = referenceOf(objectOf(one).descriptor)
      const level = textOf(objectOf(objectOf(one).configuration).level)
      const id = reference.id ?? ruleOf(reference)?.id
      if (level !== undefined && id !== undefined) levels.set(keyOf(reference.component, id), level)
    }
    return levels
  })
  const overriding = overrides.filter(({ size }) => size > 0)
  /** If only one invocation has overrides, they also apply to results that do not reference an invocation. */
  const only = overriding.length === 1 ? overriding[0] : undefined

  const overriddenLevel = (
    { id, component }: RuleReference,
    rule: Rule | undefined,
    invocation: number | undefined,
  ): string | undefined => {
    const levels = invocation === undefined ? only : overrides[invocation]
    const names = [...idsOf(id), ...(rule?.id === undefined ? [] : [rule.id])]
    return names.flatMap(name => levels?.get(keyOf(component, name)) ?? [])[0]
  }

  return listOf(results).flatMap(result => {
    if (typeof result !== 'object' || result === null || Array.isArray(result)) return []
    const { level, kind, ruleId, ruleIndex, rule: named, provenance } = objectOf(result)
    if (typeof level === 'string' && level !== '') return level
    if (typeof kind === 'string' && kind.toLowerCase() !== 'fail') return 'none'
    const own = referenceOf(named)
    const reference = { ...own, id: own.id ?? textOf(ruleId), index: own.index ?? indexOf(ruleIndex) }
    const rule = ruleOf(reference)
    const invocation = indexOf(objectOf(provenance).invocationIndex)
    return overriddenLevel(reference, rule, invocation) ?? rule?.level ?? defaultLevel
  })
}

function ruleOf({ id, index, guid, component }: RuleReference): Rule | undefined {
  const byIndex = index === undefined ? undefined : component?.rules[index]
  return byIndex ?? [guid ?? '', ...idsOf(id)].flatMap(name => component?.byName.get(name) ?? [])[0]
}

function componentOf(value: unknown): Component {
  const { name, guid, rules: list } = objectOf(value)
  const rules = listOf(list).map((one): Rule => {
    const { id, guid: own, defaultConfiguration } = objectOf(one)
    return { id: textOf(id), guid: guidOf(own), level: textOf(objectOf(defaultConfiguration).level) }
  })
  const named = rules.flatMap(rule =>
    [rule.id, rule.guid].flatMap(key => (key === undefined ? [] : [[key, rule] as const])),
  )
  return { name: textOf(name), guid: guidOf(guid), rules, byName: new Map(named.toReversed()) }
}

/** Maps each GUID or name to the first component that has it. Components without a GUID or name are not in the map. */
function firstBy(components: readonly Component[], field: 'guid' | 'name'): Map<string | undefined, Component> {
  const named = components.filter(one => one[field] !== undefined)
  return new Map(named.toReversed().map(one => [one[field], one]))
}

/** Returns the id followed by its ancestors. For `a/b/c`: `a/b/c`, `a/b`, `a`. */
function idsOf(id: string | undefined): string[] {
  const parts = id?.split('/', maxParts) ?? []
  return [...new Set([id ?? '', ...parts.map((_, index) => parts.slice(0, parts.length - index).join('/'))])]
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function guidOf(value: unknown): string | undefined {
  return textOf(value)?.toLowerCase()
}

/** Reads an index. In SARIF every index defaults to -1, which means that there is none. */
function indexOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined
}
