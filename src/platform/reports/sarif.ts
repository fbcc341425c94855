// Finds the level of each result of a SARIF report (SARIF 2.1.0, 3.27.10), which arrives value by value. A result without a level takes it from its
// rule, which may come after it in the file. Therefore such results are counted by what they say about their rule, until their run ends.
import { each, type JsonPath } from './json-values.ts'
import { createSarifRules, type RuleReference } from './sarif-rules.ts'

export interface SarifLevels {
  readonly paths: readonly JsonPath[]
  /** Ends the report. */
  end(): void
}

/** Maximum number of different references to rules that are kept of one run. Further ones are resolved with the rules that came before them. */
const maxReferences = 10_000

/** `onLevel`: called with the level of so many results. */
export function createSarifLevels(onLevel: (level: string, results: number) => void): SarifLevels {
  let run = ''
  let rules = createSarifRules()
  /** Results whose level is not known yet, by their references as JSON. */
  const waiting = new Map<string, number>()

  function endRun(): void {
    for (const [reference, results] of waiting) onLevel(rules.levelOf(JSON.parse(reference) as RuleReference), results)
    waiting.clear()
    rules = createSarifRules()
  }

  function result(value: unknown): void {
    const { level, kind, ruleId, ruleIndex, rule, provenance } = recordOf(value)
    if (typeof level === 'string' && level !== '') onLevel(level, 1)
    else if (typeof kind === 'string' && kind.toLowerCase() !== 'fail') onLevel('none', 1)
    else {
      const own = referenceOf(rule)
      const reference: RuleReference = {
        ...{ id: own.id ?? textOf(ruleId), index: own.index ?? indexOf(ruleIndex), guid: own.guid },
        ...{ component: own.component, invocation: indexOf(recordOf(provenance).invocationIndex) },
      }
      const key = JSON.stringify(reference)
      const known = waiting.get(key)
      if (known !== undefined || waiting.size < maxReferences) waiting.set(key, (known ?? 0) + 1)
      else onLevel(rules.levelOf(reference), 1)
    }
  }

  /** A path within a run. */
  const within = (
    path: readonly string[],
    onValue: (value: unknown, nth: number, inner: number) => void,
  ): JsonPath => ({
    path: ['runs', each, ...path],
    onValue: (value, [document, number, nth = 0, inner = 0]) => {
      const name = `${document} ${number}`
      if (name !== run) endRun()
      run = name
      onValue(value, nth, inner)
    },
  })

  return {
    paths: [
      within(['results', each], value => {
        if (isRecord(value)) result(value)
      }),
      within(['tool', 'driver', 'name'], value => rules.name('driver', textOf(value))),
      within(['tool', 'driver', 'guid'], value => rules.name('driver', guidOf(value))),
      within(['tool', 'driver', 'rules', each], (value, nth) => rules.add('driver', nth, ruleOf(value))),
      within(['tool', 'extensions', each, 'name'], (value, nth) => rules.name(nth, textOf(value))),
      within(['tool', 'extensions', each, 'guid'], (value, nth) => rules.name(nth, guidOf(value))),
      within(['tool', 'extensions', each, 'rules', each], (value, nth, inner) => rules.add(nth, inner, ruleOf(value))),
      within(['invocations', each, 'ruleConfigurationOverrides', each], (value, nth) => {
        const { descriptor, configuration } = recordOf(value)
        const level = textOf(recordOf(configuration).level)
        if (level !== undefined) rules.override({ ...referenceOf(descriptor), invocation: nth }, level)
      }),
    ],
    end: endRun,
  }
}

function ruleOf(value: unknown) {
  const { id, guid, defaultConfiguration } = recordOf(value)
  return { id: textOf(id), guid: guidOf(guid), level: textOf(recordOf(defaultConfiguration).level) }
}

/** A `reportingDescriptorReference` (3.52). */
function referenceOf(value: unknown): RuleReference {
  const { id, index, guid, toolComponent } = recordOf(value)
  const component = isRecord(toolComponent) && {
    ...{ index: indexOf(toolComponent.index), guid: guidOf(toolComponent.guid), name: textOf(toolComponent.name) },
  }
  return { id: textOf(id), index: indexOf(index), guid: guidOf(guid), ...(component && { component }) }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {}
}

/** Maximum length of an id, a name or a level: longer ones are not used. */
const maxText = 1_000

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= maxText ? value : undefined
}

/** A GUID may be written in either case. */
function guidOf(value: unknown): string | undefined {
  return textOf(value)?.toLowerCase()
}

/** -1 is the default of every index, and means that there is none. */
function indexOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined
}
