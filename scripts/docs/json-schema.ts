// Generates the JSON Schema (draft 2020-12) of the YAML file, for editors. The configuration loader checks more than a schema can.
import { allOptions } from '../../src/daemon/configuration/options.ts'
import { Each, Option, yamlKey, type Group, type Profiles } from '../../src/daemon/configuration/option.ts'
import { features } from '../../src/features.ts'
import { z } from 'zod'
import type { Kind } from '../../src/daemon/configuration/kind.ts'

/** A fragment of JSON Schema, draft 2020-12. */
type JsonSchema = Readonly<Record<string, unknown>>

/** Returns the content of config/pipespan.schema.json. */
export function jsonSchema(profiles: Profiles): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of Pipespan',
    ...schemaOf(allOptions(profiles, features)),
  }
}

function schemaOf(group: Group): JsonSchema {
  const properties = Object.entries(group).flatMap(([name, entry]): [string, JsonSchema][] => {
    const key = yamlKey(name)
    if (entry instanceof Each) {
      return [[key, { description: entry.description, type: 'array', items: schemaOf(entry.item) }]]
    }
    if (!(entry instanceof Option)) return [[key, schemaOf(entry)]]
    if (entry.spec.variableOnly === true) return []
    const own: [string, JsonSchema] = [key, schemaOfOption(entry)]
    if (!entry.kind.secret) return [own]
    return [own, [`${key}_file`, { description: `A file with the value of ${key}.`, type: 'string' }]]
  })
  const required = Object.entries(group).flatMap(([name, entry]) =>
    // A required secret is not required in the schema, because it may be provided in a file instead.
    entry instanceof Option && entry.spec.required === true && !entry.kind.secret ? [yamlKey(name)] : [],
  )
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
  }
}

function schemaOfOption({ kind, spec }: Option): JsonSchema {
  const { default: text, example } = spec
  const parsed = text === undefined ? undefined : kind.parse(text)
  const isSwitch = parsed !== undefined && 'value' in parsed && typeof parsed.value === 'boolean'
  return {
    description: spec.description,
    ...valueSchema(kind),
    ...(text === undefined ? {} : { default: isSwitch ? text === 'true' : text }),
    ...(example === undefined ? {} : { examples: [example] }),
  }
}

/** Returns the schema of a value. Numbers, booleans and lists use YAML's own types. All other values are strings, in YAML too. */
function valueSchema({ schema, spec }: Kind<unknown>): JsonSchema {
  if (spec.json !== undefined) return spec.json
  const [read, written] = (['output', 'input'] as const).map((io): JsonSchema => {
    const { $schema: _, ...own } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
    return own
  })
  if (read?.type === 'array') return { anyOf: [{ type: 'string' }, read] }
  return read?.type === undefined ? { type: 'string', ...written } : read
}
