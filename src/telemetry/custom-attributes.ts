// The attributes that the operator's rules set: which rules match a pipeline, an event or a job, and what they set. Rules are matched once for all
// pipelines of a project, a class of refs and a source.
import { AttributeTable, plainAttributes, type AttributeSet, type NamedRow } from './otlp/attribute.ts'
import { branchClassOf, type BranchClass } from '../model/branch-class.ts'
import { chooser } from '../lib/chooser.ts'
import { isEvent, type AnyChunk } from '../model/event.ts'
import { remember } from '../lib/bounded-map.ts'
import type { AttributePolicy } from './attribute-policy.ts'

/** Glob patterns. */
export interface RuleChoice {
  readonly include?: readonly string[] | undefined
  readonly exclude?: readonly string[] | undefined
}

/** Matches if all its conditions do. A condition without patterns always matches. */
export interface AttributeSetter {
  readonly projects: RuleChoice
  readonly branches?: readonly BranchClass[] | undefined
  readonly sources: RuleChoice
  /** With patterns here the rule is for these jobs only. */
  readonly jobs: RuleChoice
  readonly set: Readonly<Record<string, string>>
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

/** Where a chunk is from. A project without a known path, and an event's branch and source, match no pattern. */
interface Place {
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
): CustomAttributesOf | undefined {
  if (rules.length === 0) return undefined
  const ready = rules.map(readyRule)
  const known = new Map<string, CustomAttributes>()
  return chunk => {
    const place = placeOf(chunk)
    const key = [place.branch, place.source, place.path].join('\n')
    const found = known.get(key)
    if (found !== undefined) return found
    const made = attributesAt(
      ready.filter(({ isFor }) => isFor(place)),
      policy,
    )
    remember(known, key, made, maxPlaces)
    return made
  }
}

/** The attributes with custom ones at their end, if there are any. */
export function withCustom(attributes: AttributeSet[], custom: readonly AttributeSet[] = []): AttributeSet[] {
  return custom.length === 0 ? attributes : [...attributes, ...custom]
}

interface ReadyRule {
  readonly rule: AttributeSetter
  readonly isFor: (place: Place) => boolean
  /** Undefined: the rule is for the whole pipeline. */
  readonly isForJob: ((name: string | undefined) => boolean) | undefined
}

function readyRule(rule: AttributeSetter): ReadyRule {
  const { branches, projects, sources, jobs } = rule
  const [isProject, isSource, isForJob] = [matcher(projects), matcher(sources), matcher(jobs)]
  return {
    rule,
    isFor: ({ path, branch, source }) =>
      (isProject?.(path) ?? true) &&
      (isSource?.(source) ?? true) &&
      (branches === undefined || (branch !== undefined && branches.includes(branch))),
    isForJob,
  }
}

/** Undefined without patterns. */
function matcher({ include = [], exclude = [] }: RuleChoice): ((text: string | undefined) => boolean) | undefined {
  if (include.length + exclude.length === 0) return undefined
  const isChosen = chooser(include, exclude)
  return text => text !== undefined && isChosen(text)
}

function placeOf(chunk: AnyChunk): Place {
  const path = chunk.project?.path
  if (isEvent(chunk)) return { path, branch: undefined, source: undefined }
  const { facts } = chunk.pipeline
  return { path, branch: branchClassOf(facts, chunk.project), source: facts.source }
}

function attributesAt(rules: readonly ReadyRule[], policy: AttributePolicy): CustomAttributes {
  const ofPipeline = rules.filter(({ isForJob }) => isForJob === undefined)
  const measured = ofPipeline.filter(({ rule }) => rule.metrics)
  const values = valuesOf(ofPipeline)
  const own = setsOf(values, policy)
  const jobs = new Map<string, readonly AttributeSet[]>()
  return {
    values,
    own,
    points:
      measured.length === 0
        ? undefined
        : (plainAttributes(setsOf(valuesOf(measured), policy)) as Record<string, string>),
    ofJob: name => {
      if (name === undefined || ofPipeline.length === rules.length) return own
      const known = jobs.get(name)
      if (known !== undefined) return known
      const made = setsOf(valuesOf(rules.filter(({ isForJob }) => isForJob?.(name) ?? true)), policy)
      remember(jobs, name, made, maxJobs)
      return made
    },
  }
}

/** Later rules win. */
function valuesOf(rules: readonly ReadyRule[]): Readonly<Record<string, string>> {
  return Object.assign({}, ...rules.map(({ rule }) => rule.set)) as Readonly<Record<string, string>>
}

function setsOf(values: Readonly<Record<string, string>>, policy: AttributePolicy): readonly AttributeSet[] {
  const rows = Object.keys(values).flatMap((key): (NamedRow & { readonly value: string })[] => {
    const rule = policy(key)
    return rule === undefined ? [] : [{ names: [{ key, rule }], recurs: 'custom', value: values[key] ?? '' }]
  })
  return rows.length === 0 ? [] : [{ table: new AttributeTable(rows), values: rows.map(({ value }) => value) }]
}
