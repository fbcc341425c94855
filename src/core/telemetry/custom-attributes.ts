// The attributes that the operator's rules set: which rules match a pipeline, an event or a job, and what they set. Rules are matched once for all
// pipelines of a project, a class of refs and a source.
import { AttributeTable, plainAttributes, type AttributeSet, type NamedRow } from './otlp/attribute.ts'
import { branchClasses, branchClassOf, type BranchClass } from '../../model/pipeline.ts'
import { chooser, isChoice, projectChooser, type Choice, type PlatformOf } from '../../lib/chooser.ts'
import { isEvent, type AnyChunk } from '../../model/event.ts'
import { notBlank } from './mapping/row.ts'
import { remember } from '../../lib/bounded-map.ts'
import type { PipelineFacts, ProjectFacts } from '../../model/observation.ts'
import type { AttributePolicy } from './attributes.ts'

/** A literal, the rest of the merge request's label that begins with this prefix, or the value of the pipeline's variable. */
export type AttributeSource = string | { readonly label: string } | { readonly variable: string }

/** Matches if all its conditions do. A condition without patterns always matches. */
export interface AttributeSetter {
  readonly projects: Choice
  readonly branches?: readonly BranchClass[] | undefined
  readonly sources: Choice
  /** With patterns here the rule is for these jobs only. */
  readonly jobs: Choice
  readonly set: Readonly<Record<string, AttributeSource>>
  /** Also on the points of metrics. */
  readonly metrics: boolean
}

/** What the rules set for one chunk. */
export interface CustomAttributes {
  /** Of the pipeline or event, before the attribute policy. */
  readonly values: Readonly<Record<string, string>>
  /** The same for spans and records. */
  readonly own: readonly AttributeSet[]
  /** Of the points of metrics; undefined if no rule sets any. */
  readonly points: Readonly<Record<string, string>> | undefined
  /** For the spans and records of a job. */
  readonly ofJob: (name: string | undefined) => readonly AttributeSet[]
}

export type CustomAttributesOf = (chunk: AnyChunk) => CustomAttributes

/** What the rules set on a point of a project that belongs to no pipeline. `branch`: of what it measures; undefined if it has none. */
export type ProjectPoints = (
  project: ProjectFacts,
  instance: string,
  branch?: BranchClass,
) => Readonly<Record<string, string>>

/** Where a chunk is from. A project without a known path, an event's source, and its branch unless it is about a change, match no pattern. */
interface Place {
  readonly instance: string
  readonly path: string | undefined
  readonly branch: BranchClass | undefined
  readonly source: string | undefined
}

/** Remembered places, and jobs of each. */
const maxPlaces = 2_000
const maxJobs = 200

/** Undefined without rules. */
export function customAttributes(
  rules: readonly AttributeSetter[],
  policy: AttributePolicy,
  platformOf: PlatformOf = noPlatform,
): CustomAttributesOf | undefined {
  if (rules.length === 0) return undefined
  const ready = rules.map(rule => readyRule(rule, platformOf))
  const known = new Map<string, CustomAttributesOf>()
  return chunk => {
    const place = placeOf(chunk)
    const key = [place.branch, place.source, place.instance, place.path].join('\n')
    const found = known.get(key)
    if (found !== undefined) return found(chunk)
    const matching = ready.filter(({ isFor }) => isFor(place))
    const made = attributesBy(matching, policy)
    remember(known, key, made, maxPlaces)
    return made(chunk)
  }
}

/** The attributes with custom ones at their end, if there are any. */
export function withCustom(
  attributes: readonly AttributeSet[],
  custom: readonly AttributeSet[] = [],
): readonly AttributeSet[] {
  return custom.length === 0 ? attributes : [...attributes, ...custom]
}

/**
 * The literals of the rules with `metrics` and without `jobs`, by project and class of refs; no rule with `sources` matches. They depend on nothing else,
 * so a project has as many series as without rules. Undefined without such rules.
 */
export function projectPoints(
  rules: readonly AttributeSetter[],
  policy: AttributePolicy,
  platformOf: PlatformOf = noPlatform,
): ProjectPoints | undefined {
  const chosen = rules.filter(({ metrics, jobs }) => metrics && !isChoice(jobs))
  const ready = chosen.map(rule => readyRule(rule, platformOf))
  if (ready.length === 0) return undefined
  const known = new Map<string, Readonly<Record<string, string>>>()
  return ({ path }, instance, branch) => {
    const key = [branch, instance, path].join('\n')
    const found = known.get(key)
    if (found !== undefined) return found
    const matching = ready.filter(({ isFor }) => isFor({ path, instance, branch, source: undefined }))
    const made = Object.fromEntries(
      matching
        .flatMap(({ rule }) => Object.entries(rule.set))
        .flatMap(([name, value]) => {
          const kept = typeof value === 'string' ? policy(name) : undefined
          return kept === undefined ? [] : [[name, kept(value as string)] as const]
        }),
    ) as Record<string, string>
    remember(known, key, made, maxPlaces)
    return made
  }
}

/** The value of one attribute in a project, for a class of refs: by the literals of those rules that need no more. */
export function literalOf(
  rules: readonly AttributeSetter[],
  name: string,
  platformOf: PlatformOf = noPlatform,
): (path: string, branch: string, instance?: string) => string | undefined {
  const ready = rules
    .filter(({ set, sources, jobs }) => typeof set[name] === 'string' && !isChoice(sources) && !isChoice(jobs))
    .map(rule => readyRule(rule, platformOf))
    .reverse()
  return (path, branch, instance = '') => {
    const place = { path, instance, branch: branchClasses.find(one => one === branch), source: undefined }
    const value = ready.find(({ isFor }) => isFor(place))?.rule.set[name]
    return typeof value === 'string' ? value : undefined
  }
}

interface ReadyRule {
  readonly rule: AttributeSetter
  readonly isFor: (place: Place) => boolean
  /** Undefined: the rule is for the whole pipeline. */
  readonly isForJob: ((name: string | undefined) => boolean) | undefined
}

const noPlatform: PlatformOf = () => undefined

function readyRule(rule: AttributeSetter, platformOf: PlatformOf): ReadyRule {
  const { branches, projects, sources, jobs } = rule
  const [isSource, isForJob] = [matcher(sources), matcher(jobs)]
  const isProject = isChoice(projects) ? projectChooser(projects, platformOf) : undefined
  return {
    rule,
    isFor: ({ path, instance, branch, source }) =>
      (isProject === undefined || (path !== undefined && isProject(path, instance))) &&
      (isSource?.(source) ?? true) &&
      (branches === undefined || (branch !== undefined && branches.includes(branch))),
    isForJob,
  }
}

/** Undefined without patterns. */
function matcher(choice: Choice): ((text: string | undefined) => boolean) | undefined {
  if (!isChoice(choice)) return undefined
  const matches = chooser(choice)
  return text => text !== undefined && matches(text)
}

function placeOf(chunk: AnyChunk): Place {
  const path = chunk.project?.path
  const { instance } = chunk.key
  if (isEvent(chunk)) {
    const isAboutChange = ['change', 'change_figures'].includes(chunk.event.kind)
    return { path, instance, branch: isAboutChange ? 'merge_request' : undefined, source: undefined }
  }
  const { facts } = chunk.pipeline
  return { path, instance, branch: branchClassOf(facts, chunk.project), source: facts.source }
}

/** What matching rules set: the same object for all chunks if they only set literals. */
function attributesBy(rules: readonly ReadyRule[], policy: AttributePolicy): CustomAttributesOf {
  const ofPipeline = rules.filter(({ isForJob }) => isForJob === undefined)
  const own = layerOf(ofPipeline, policy)
  const points = layerOf(
    ofPipeline.filter(({ rule }) => rule.metrics),
    policy,
  )
  const jobs = new Map<string, Layer>()
  const layerOfJob = (name: string): Layer => {
    const known = jobs.get(name)
    if (known !== undefined) return known
    const made = layerOf(
      rules.filter(({ isForJob }) => isForJob?.(name) ?? true),
      policy,
    )
    remember(jobs, name, made, maxJobs)
    return made
  }
  const madeOf: CustomAttributesOf = chunk => {
    const values = own.valuesOf(chunk)
    const sets = own.setsOf(values)
    return {
      values: Object.fromEntries(own.names.flatMap((name, n) => (values[n] === undefined ? [] : [[name, values[n]]]))),
      own: sets,
      points:
        points.names.length === 0
          ? undefined
          : (plainAttributes(points.setsOf(points.valuesOf(chunk))) as Record<string, string>),
      ofJob: name => {
        if (name === undefined || ofPipeline.length === rules.length) return sets
        const layer = layerOfJob(name)
        return layer.setsOf(layer.valuesOf(chunk))
      },
    }
  }
  if (rules.some(({ rule }) => Object.values(rule.set).some(source => typeof source !== 'string'))) return madeOf
  let made: CustomAttributes | undefined
  return chunk => (made ??= madeOf(chunk))
}

/** The names that some rules set, and where their values come from. */
interface Layer {
  readonly names: readonly string[]
  valuesOf(chunk: AnyChunk): (string | undefined)[]
  setsOf(values: (string | undefined)[]): readonly AttributeSet[]
}

const none: readonly AttributeSet[] = []

function layerOf(rules: readonly ReadyRule[], policy: AttributePolicy): Layer {
  const sources = new Map<string, AttributeSource[]>()
  for (const { rule } of rules) {
    for (const [name, source] of Object.entries(rule.set)) sources.set(name, [...(sources.get(name) ?? []), source])
  }
  const names = [...sources.keys()]
  // The last one that has a value wins.
  const newestFirst = [...sources.values()].map(all => all.toReversed())
  const table = new AttributeTable(names.map(key => rowOf(key, policy)))
  return {
    names,
    valuesOf: chunk => newestFirst.map(all => firstKnown(all, chunk)),
    setsOf: values => (names.length === 0 ? none : [{ table, values }]),
  }
}

function rowOf(key: string, policy: AttributePolicy): NamedRow {
  const rule = policy(key)
  return { names: rule === undefined ? [] : [{ key, rule }], recurs: 'custom' }
}

function firstKnown(sources: readonly AttributeSource[], chunk: AnyChunk): string | undefined {
  for (const source of sources) {
    const value = typeof source === 'string' ? source : foundIn(chunk, source)
    if (value !== undefined) return value
  }
  return undefined
}

function foundIn(chunk: AnyChunk, source: Exclude<AttributeSource, string>): string | undefined {
  const facts: Pick<PipelineFacts, 'labels' | 'variables'> = isEvent(chunk) ? chunk.event : chunk.pipeline.facts
  const { labels = [], variables = {} } = facts
  if ('variable' in source) {
    return Object.hasOwn(variables, source.variable) ? notBlank(variables[source.variable]) : undefined
  }
  return notBlank(labels.find(label => label.startsWith(source.label))?.slice(source.label.length))
}
