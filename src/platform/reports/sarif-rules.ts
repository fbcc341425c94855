// The rules of one run of a SARIF report: of the tool's driver and of its extensions, with what the invocations override. Answers the level of a
// result that has none.

/** How a result, or an override, names its rule. A hierarchical id (`a/b/c`) also means the rules `a/b` and `a` (3.27.5). */
export interface RuleReference {
  readonly id?: string | undefined
  /** The number of the rule within its component, from 0. */
  readonly index?: number | undefined
  readonly guid?: string | undefined
  /** Undefined: the driver. */
  readonly component?: ComponentReference | undefined
  /** The number of the invocation, from 0. */
  readonly invocation?: number | undefined
}

interface ComponentReference {
  /** The number of the extension, from 0. */
  readonly index?: number | undefined
  readonly guid?: string | undefined
  readonly name?: string | undefined
}

interface Rule {
  readonly id: string | undefined
  readonly guid: string | undefined
  readonly level: string | undefined
}

/** The driver, or the number of an extension. */
type ComponentKey = 'driver' | number

interface Component {
  readonly byIndex: Map<number, Rule>
  /** By id and by guid. The first rule of a name counts. */
  readonly byName: Map<string, Rule>
}

interface Overridden {
  /** By invocation, component and id. */
  readonly levels: ReadonlyMap<string, string>
  /** The only invocation with overrides, which counts for results that do not name theirs. */
  readonly only: number | undefined
}

export interface SarifRules {
  /** `name`: the name or the guid of a component. */
  name(key: ComponentKey, name: string | undefined): void
  /** `index`: the number of the rule within its component. */
  add(key: ComponentKey, index: number, rule: Rule): void
  override(reference: RuleReference, level: string): void
  levelOf(reference: RuleReference): string
}

/** Maximum numbers that are kept of one run. Further ones are ignored. */
const limits = { rules: 20_000, components: 1_000, overrides: 10_000 } as const
/** The level of a result if neither it nor its rule has one. */
const defaultLevel = 'warning'

export function createSarifRules(): SarifRules {
  const components = new Map<ComponentKey, Component>()
  const names = new Map<string, ComponentKey>()
  const overrides: { readonly reference: RuleReference; readonly level: string }[] = []
  /** Undefined until needed, because a descriptor may name a rule that comes later. */
  let overridden: Overridden | undefined
  let rules = 0

  function componentOf(reference: ComponentReference | undefined): ComponentKey | undefined {
    const { index, guid, name } = reference ?? {}
    if (index === undefined && guid === undefined && name === undefined) return 'driver'
    return index ?? names.get(guid ?? '') ?? names.get(name ?? '')
  }

  function ruleOf({ id, index, guid, component }: RuleReference): Rule | undefined {
    const known = components.get(componentOf(component) ?? NaN)
    const byNumber = index === undefined ? undefined : known?.byIndex.get(index)
    return byNumber ?? [guid ?? '', ...idsOf(id)].flatMap(name => known?.byName.get(name) ?? [])[0]
  }

  function allOverridden(): Overridden {
    const invocations = new Set(overrides.map(({ reference }) => reference.invocation))
    const levels = overrides.map(({ reference, level }) => {
      const id = reference.id ?? ruleOf(reference)?.id
      return [keyOf(reference.invocation, componentOf(reference.component), id), level] as const
    })
    return { levels: new Map(levels), only: invocations.size === 1 ? [...invocations][0] : undefined }
  }

  function overriddenLevel({ id, component, invocation }: RuleReference, rule: Rule | undefined): string | undefined {
    if (overrides.length === 0) return undefined
    overridden ??= allOverridden()
    const { levels, only } = overridden
    const key = (name: string) => keyOf(invocation ?? only, componentOf(component), name)
    return [...idsOf(id), rule?.id].flatMap(name => (name === undefined ? [] : (levels.get(key(name)) ?? [])))[0]
  }

  return {
    name: (key, name) => {
      if (name !== undefined && names.size < limits.components && !names.has(name)) names.set(name, key)
      overridden = undefined
    },
    add: (key, index, rule) => {
      const component = components.get(key) ?? { byIndex: new Map<number, Rule>(), byName: new Map<string, Rule>() }
      if (rules >= limits.rules || (components.size >= limits.components && !components.has(key))) return
      rules += 1
      overridden = undefined
      components.set(key, component)
      component.byIndex.set(index, rule)
      for (const name of [rule.id, rule.guid]) {
        if (name !== undefined && !component.byName.has(name)) component.byName.set(name, rule)
      }
    },
    override: (reference, level) => {
      if (overrides.length < limits.overrides) overrides.push({ reference, level })
      overridden = undefined
    },
    levelOf: reference => {
      const rule = ruleOf(reference)
      return overriddenLevel(reference, rule) ?? rule?.level ?? defaultLevel
    },
  }
}

/** The id, then those above it: `a/b/c`, `a/b`, `a`. */
function idsOf(id: string | undefined): string[] {
  if (id === undefined) return []
  const parts = id.split('/')
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('/'))
}

function keyOf(invocation: number | undefined, component: ComponentKey | undefined, id: string | undefined): string {
  return JSON.stringify([invocation, component, id])
}
