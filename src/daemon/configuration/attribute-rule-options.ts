// The options for custom attributes: a list of rules, each with its conditions and the attributes it sets. Attribute names that Pipespan, the
// conventions it uses, or Prometheus needs are not allowed.
import { boolean } from './plain-kinds.ts'
import { Each, setting } from './option.ts'
import { choiceOf, projectChoice } from './project-kinds.ts'
import { someOf } from './list-kinds.ts'
import { z } from 'zod'
import { kind, reading, wrong, type Parsed } from './kind.ts'

const maxLength = 64

/**
 * The reserved first segments of attribute names: the first segments of Pipespan's own names, of the conventions it uses, and of its labels on the
 * metrics page.
 */
const reserved =
  /^(?:__|(?:cicd|vcs|pipeline|job|platform|project|otel)(?:[._]|$)|(?:client|code|container|deployment|error|event|exception|feature_flag|host|instance|inventory|k8s|le|log|pipespan|quantile|service|source|telemetry|test|user)(?:\.|$))/i

/** The pattern of attribute names for the JSON Schema. */
export const attributeNamePattern = `^[A-Za-z][A-Za-z0-9_]*(\\.[A-Za-z0-9_]+)*$`

const form = new RegExp(attributeNamePattern)

/** Returns what is wrong with an attribute name and how to fix it; undefined if the name is valid. */
export function wrongAttributeName(name: string): { what: string; remedy: string } | undefined {
  if (!form.test(name) || name.length > maxLength) {
    return {
      what: `"${name.slice(0, maxLength)}" is not the name of an attribute.`,
      remedy: `Write letters, digits, dots and underscores, at most ${maxLength}, such as team or cost.center.`,
    }
  }
  const [segment] = reserved.exec(name) ?? []
  return segment === undefined ? undefined : reservedName(name, segment)
}

/** Returns the fault for a reserved attribute name. `segment` is the reserved first segment of the name. */
export function reservedName(name: string, segment: string): { what: string; remedy: string } {
  return {
    what: `The name ${name} is reserved: names that begin with "${segment}" belong to Pipespan or to the semantic conventions.`,
    remedy: 'Use another name, such as team, or a namespace of your own, such as acme.team.',
  }
}

/** The maximum number of attribute names across all attribute rules. */
export const maxCustomAttributes = 16

/** The maximum number of pipeline variables across all attribute rules. */
export const maxVariables = 16

/** The maximum length of an attribute value, in UTF-16 code units. */
const maxValueLength = 256

const setRemedy = 'Write names and values, such as {team: payments}.'

/** The source of an attribute's value: a literal; the part of a merge request label after this prefix; or the value of this pipeline variable. */
export type AttributeSource = string | { readonly label: string } | { readonly variable: string }

const variableName = /^[A-Za-z_][A-Za-z0-9_]{0,254}$/

const sourceSchema = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
  properties: { label: { type: 'string', minLength: 1 }, variable: { type: 'string', pattern: variableName.source } },
}

const attributeValues = kind(
  z.record(z.string(), z.union([z.string(), z.record(z.string(), z.string())])).transform(reading(valuesIn)),
  {
    ...{ noun: 'a mapping of attribute names to values', item: 'a plain value', remedy: setRemedy },
    json: {
      type: 'object',
      minProperties: 1,
      maxProperties: maxCustomAttributes,
      propertyNames: { pattern: attributeNamePattern },
      additionalProperties: {
        anyOf: [{ type: ['string', 'number', 'boolean'], maxLength: maxValueLength }, sourceSchema],
      },
    },
    show: values =>
      Object.entries(values)
        .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
        .join(','),
  },
)

type Given = string | Readonly<Record<string, string>>

function valuesIn(given: Readonly<Record<string, Given>>): Parsed<Readonly<Record<string, AttributeSource>>> {
  const values: [string, AttributeSource][] = []
  for (const [name, one] of Object.entries(given)) {
    const source = sourceOf(one)
    const fault = wrongAttributeName(name) ?? wrongSource(name, source)
    if (fault !== undefined) return { wrong: fault }
    if (source !== undefined) values.push([name, source])
  }
  if (values.length === 0) return wrong('The rule sets nothing.', setRemedy)
  return { value: Object.fromEntries(values) }
}

function sourceOf(given: Given): AttributeSource | undefined {
  if (typeof given === 'string') return given
  const [[from, text] = ['', ''], ...more] = Object.entries(given)
  if (more.length > 0 || text.trim() === '') return undefined
  if (from === 'label') return { label: text }
  return from === 'variable' ? { variable: text } : undefined
}

function wrongSource(name: string, source: AttributeSource | undefined): { what: string; remedy: string } | undefined {
  if (typeof source === 'string') return wrongValue(name, source)
  if (source === undefined) {
    const remedy = 'Write a string, or where it comes from: {label: "team::"} or {variable: TEAM}.'
    return { what: `${name} has no value.`, remedy }
  }
  if ('label' in source || variableName.test(source.variable)) return undefined
  return {
    what: `The variable for ${name} is not an exact name.`,
    remedy: 'Write one name, not a pattern: {variable: TEAM}.',
  }
}

function wrongValue(name: string, value: string): { what: string; remedy: string } | undefined {
  if (value.trim() === '') return { what: `${name} has no value.`, remedy: 'Write a value, or remove the name.' }
  if (value.length <= maxValueLength && !/\p{Cc}/u.test(value)) return undefined
  const remedy = `Write at most ${maxValueLength} characters on one line.`
  return { what: `The value of ${name} is too long, or has control characters.`, remedy }
}

export const attributeRules = new Each(
  {
    projects: projectChoice(),
    branches: setting(someOf(['default', 'merge_request', 'tag', 'other']), { unset: 'all' }).describe(
      'What the pipeline ran for: the default branch, a merge request, a tag, or another ref.',
    ),
    sources: choiceOf('pipeline sources'),
    jobs: choiceOf('job names', ' The rule then only applies to spans and log records of these jobs.'),
    set: setting(attributeValues, { required: true }).describe(
      `The attributes: strings of up to ${maxValueLength} characters, or \`{label: "team::"}\` for the part of a merge request label after this prefix, or \`{variable: TEAM}\` for the pipeline's variable of this name; at most ${maxCustomAttributes} names in all rules.`,
    ),
    metrics: setting(boolean, { default: 'false' }).describe(
      'Also set the attributes on metric points; cannot be combined with `jobs`.',
    ),
  },
  'Attributes of your own: see docs/own-attributes.md. All matching rules apply; if several set the same name, the last one wins.',
)
