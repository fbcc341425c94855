// The attributes that the operator's rules set on pipelines, events and jobs. Rules are matched once per chunk. A cache by project and ref class was
// tried and removed, because matching takes only microseconds.
import { AttributeTable, plainAttributes, type AttributeSet, type NamedRow } from './otlp/attribute.ts'
import { branchClasses, branchClassOf, type BranchClass } from '../../model/pipeline.ts'
import { chooser, isChoice, projectChooser, type Choice, type PlatformOf } from '../../lib/chooser.ts'
import { isEvent, type AnyChunk } from '../../model/event.ts'
import { notBlank } from './mapping/row.ts'
import type { AttributePolicy } from './attributes.ts'
import type { PipelineFacts, ProjectFacts } from '../../model/observation.ts'

/**
 * The source of an attribute's value: a literal, the rest of the merge request label that starts with this prefix, or the value of this pipeline
 * variable.
 */
export type AttributeSource = string | { readonly label: string } | { readonly variable: string }

/** A rule that sets attributes. It matches if all its conditions match. A condition without patterns always matches. */
export interface AttributeSetter {
  readonly projects: Choice
  readonly branches?: readonly BranchClass[] | undefined
  readonly sources: Choice
  /** Patterns for job names. If there are any, the rule applies only to jobs with matching names. */
  readonly jobs: Choice
  readonly set: Readonly<Record<string, AttributeSource>>
  /** Whether the attribute is also set on metric points. */
  readonly metrics: boolean
}

/** The attributes that the rules set for one chunk. */
export interface CustomAttributes {
  /** The attributes of the pipeline or event, before the attribute policy. */
  readonly values: Readonly<Record<string, string>>
  /** The attributes in `values` in the form for spans and log records, after the attribute policy. */
  readonly own: readonly AttributeSet[]
  /** The attributes of metric points. Undefined if no rule sets any. */
  readonly points: Readonly<Record<string, string>> | undefined
  /** Returns the attributes for the spans and log records of a job. */
  readonly ofJob: (name: string | undefined) => readonly AttributeSet[]
}

export type CustomAttributesOf = (chunk: AnyChunk) => CustomAttributes

/**
 * Returns the attributes that the rules set on a project's metric points outside any pipeline. `branch`: the class of the measured branch, or
 * undefined if the point is not about a branch.
 */
export type ProjectPoints = (
  project: ProjectFacts,
  instance: string,
  branch?: BranchClass,
) => Readonly<Record<string, string>>

/**
 * The properties that rules are matched against. An unknown property matches no pattern: some projects have no known path, events have no source, and
 * an event has a branch only if it is about a merge request.
 */
interface Place {
  readonly instance: string
  readonly path: string | undefined
  readonly branch: BranchClass | undefined
  readonly source: string | undefined
}

/** Returns the function that applies the rules, or undefined if there are none. */
export function customAttributes(
  rules: readonly AttributeSetter[],
  policy: AttributePolicy,
  platformOf: PlatformOf = noPlatform,
): CustomAttributesOf | undefined {
  if (rules.length === 0) return undefined
  const ready = rules.map(rule => readyRule(rule, platformOf))
  const setsOf = setsUnder(policy)
  /** The attributes by chunk, cached because every signal requests them for the same chunk. */
  const known = new WeakMap<AnyChunk, CustomAttributes>()
  return chunk => {
    const found = known.get(chunk) ?? customOf(chunk, ready, setsOf)
    known.set(chunk, found)
    return found
  }
}

function customOf(chunk: AnyChunk, rules: readonly ReadyRule[], setsOf: SetsOf): CustomAttributes {
  const place = placeOf(chunk)
  const matching = rules.filter(({ isFor }) => isFor(place))
  const ofPipeline = matching.filter(({ isForJob }) => isForJob === undefined)
  const onPoints = ofPipeline.filter(({ rule }) => rule.metrics)
  const values = valuesBy(ofPipeline, chunk)
  const own = setsOf(values)
  const jobs = new Map<string, readonly AttributeSet[]>()
  return {
    values,
    own,
    points:
      onPoints.length === 0
        ? undefined
        : (plainAttributes(setsOf(valuesBy(onPoints, chunk))) as Record<string, string>),
    ofJob: name => {
      if (name === undefined || ofPipeline.length === matching.length) return own
      const ofJob = jobs.get(name) ?? setsOf(valuesBy(matching.filter(isForJob(name)), chunk))
      jobs.set(name, ofJob)
      return ofJob
    },
  }
}

type SetsOf = (values: Readonly<Record<string, string>>) => readonly AttributeSet[]

/** A table is created once per list of names and then reused, because tables cache the attributes that they have encoded. */
function setsUnder(policy: AttributePolicy): SetsOf {
  const tables = new Map<string, AttributeTable>()
  return values => {
    const names = Object.keys(values)
    if (names.length === 0) return []
    const key = names.join('\n')
    const table = tables.get(key) ?? new AttributeTable(names.map(name => rowOf(name, policy)))
    tables.set(key, table)
    return [{ table, values: Object.values(values) }]
  }
}

function rowOf(key: string, policy: AttributePolicy): NamedRow {
  const rule = policy(key)
  return { names: rule === undefined ? [] : [{ key, rule }], recurs: 'custom' }
}

function isForJob(name: string): (one: ReadyRule) => boolean {
  return one => one.isForJob?.(name) ?? true
}

/** Returns these attributes, followed by the custom attributes if there are any. */
export function withCustom(
  attributes: readonly AttributeSet[],
  custom: readonly AttributeSet[] = [],
): readonly AttributeSet[] {
  return custom.length === 0 ? attributes : [...attributes, ...custom]
}

/**
 * Returns the literal values that rules with `metrics` and without `jobs` set, by project and ref class. Rules with `sources` never match. The values
 * depend on nothing else, so a project has as many series as it would without rules. Undefined if there are no such rules.
 */
export function projectPoints(
  rules: readonly AttributeSetter[],
  policy: AttributePolicy,
  platformOf: PlatformOf = noPlatform,
): ProjectPoints | undefined {
  const chosen = rules.filter(({ metrics, jobs }) => metrics && !isChoice(jobs))
  const ready = chosen.map(rule => readyRule(rule, platformOf))
  if (ready.length === 0) return undefined
  const setsOf = setsUnder(policy)
  return ({ path }, instance, branch) => {
    const matching = ready.filter(({ isFor }) => isFor({ path, instance, branch, source: undefined }))
    const literals = matching
      .flatMap(({ rule }) => Object.entries(rule.set))
      .filter(([, value]) => typeof value === 'string')
    const set = Object.fromEntries(literals) as Record<string, string>
    return plainAttributes(setsOf(set)) as Record<string, string>
  }
}

/**
 * Returns a function that looks up the value that the rules give to one attribute in a project, for a ref class. Only literal values count, and only
 * rules that do not depend on pipeline sources or jobs.
 */
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
  /** Whether the rule applies to the job. Undefined if the rule applies to the whole pipeline. */
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

/** Returns a function that matches a string against the patterns, or undefined if there are none. */
function matcher(choice: Choice): ((text: string | undefined) => boolean) | undefined {
  if (!isChoice(choice)) return undefined
  const matches = chooser(choice)
  return text => text !== undefined && matches(text)
}

function placeOf(chunk: AnyChunk): Place {
  const path = chunk.project?.path
  const { instance } = chunk.key
  if (isEvent(chunk)) {
    const isAboutChange = chunk.event.kind.replace(/_figures$/, '') === 'change'
    return { path, instance, branch: isAboutChange ? 'merge_request' : undefined, source: undefined }
  }
  const { facts } = chunk.pipeline
  return { path, instance, branch: branchClassOf(facts, chunk.project), source: facts.source }
}

/** Returns the values that these rules set. If several rules set the same attribute, the last one wins. */
function valuesBy(rules: readonly ReadyRule[], chunk: AnyChunk): Record<string, string> {
  const found = rules.flatMap(({ rule }) =>
    Object.entries(rule.set).map(([name, source]) => [
      name,
      typeof source === 'string' ? source : foundIn(chunk, source),
    ]),
  )
  return Object.fromEntries(found.filter(([, value]) => value !== undefined)) as Record<string, string>
}

function foundIn(chunk: AnyChunk, source: Exclude<AttributeSource, string>): string | undefined {
  const facts: Pick<PipelineFacts, 'labels' | 'variables'> = isEvent(chunk) ? chunk.event : chunk.pipeline.facts
  const { labels = [], variables = {} } = facts
  if ('variable' in source) {
    return Object.hasOwn(variables, source.variable) ? notBlank(variables[source.variable]) : undefined
  }
  return notBlank(labels.find(label => label.startsWith(source.label))?.slice(source.label.length))
}
